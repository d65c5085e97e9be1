"""What stands around the product: set-up and tools for those who work on it."""
