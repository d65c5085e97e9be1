"""Training logs that a person named."""
