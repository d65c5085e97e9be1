"""One module a remedy: its row of the catalogue, and what it would do about an incident; pure."""
