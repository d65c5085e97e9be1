"""The numbers that a training log prints: loss, gradient norm, step and gradient-sync time."""
