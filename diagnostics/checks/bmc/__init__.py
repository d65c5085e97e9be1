"""What the BMC says of heat, cooling, power and its own event log."""
