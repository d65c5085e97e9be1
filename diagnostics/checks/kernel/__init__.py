"""What the kernel says: of this boot, and of how the one before ended."""
