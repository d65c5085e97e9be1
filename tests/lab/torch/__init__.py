"""Real jobs of PyTorch on processors, diagnosed while they run."""
