"""Read logs: unpack them, and cut their bytes into pieces that end with a line."""
