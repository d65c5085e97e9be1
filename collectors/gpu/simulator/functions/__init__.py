"""What each C function of the simulated library answers; only the helper process imports this."""
