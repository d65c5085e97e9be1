"""The one door to the machine: `live`, `recorder` (live, and writes down) and `recorded`."""
