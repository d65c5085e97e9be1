"""Checks of what tools print: pasted or saved text that says of a node what it saw there."""
