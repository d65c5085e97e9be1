"""Is the driver loaded, of one version, and does it see every GPU on the bus."""
