"""Checks of what the scheduler says of a node."""
