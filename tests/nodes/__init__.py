"""Recordings of whole nodes, each with the diagnosis that it must get (expected.json)."""
