"""Mounts, disks, drives and arrays: can a job read its data and write its checkpoints."""
