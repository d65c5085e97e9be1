"""What the aggregator keeps: `protocol` says it, `sqlite` does it on one machine.

Routes see the protocol alone. A second store is a second package behind the same protocol, and
tests/aggregator/store runs every test for each of them.
"""
