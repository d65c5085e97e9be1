"""Processes, memory, mounts, disks of the host."""
