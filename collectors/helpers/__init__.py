"""Helper processes: what can block for ever is asked of a child that may be killed, or left behind."""
