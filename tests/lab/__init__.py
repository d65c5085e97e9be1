"""Simulated hardware that real tools talk to."""
