"""Is each GPU well, by the word of the driver: memory, heat, power, links and what it is set to."""
