"""A simulated BMC, and the real ipmitool that asks it."""
