"""Collectors of the network, on recordings and on this machine."""
