"""Tests of what the BMC is asked and how its answers are read."""
