"""What do the logs of the running jobs say."""
