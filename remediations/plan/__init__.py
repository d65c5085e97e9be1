"""What could be done about an incident, and why it is or is not: pure."""
