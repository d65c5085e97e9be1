"""Are the ports up, and do the peers answer."""
