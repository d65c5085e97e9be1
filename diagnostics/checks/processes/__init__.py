"""Who is on the GPUs, what is stuck, orphaned or out of memory."""
