"""The baseboard management controller, asked in band: itself, its sensors, its event log."""
