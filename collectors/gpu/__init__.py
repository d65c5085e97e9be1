"""The NVIDIA driver and its GPUs."""
