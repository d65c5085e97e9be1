"""Ports and cards of the fabric, interfaces of the host, and whether given peers answer."""
