"""What can block for ever is asked of a helper process that may be killed, or left behind."""
