"""Is the host well: memory, pressure, clock, mounts, disks."""
