"""Real Slurm: a controller and three nodes on this host."""
