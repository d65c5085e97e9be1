"""Ports, interfaces and peers."""
