"""The checks, one family a folder; all are pure."""
