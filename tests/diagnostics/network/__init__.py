"""Checks of the network, beyond their cases."""
