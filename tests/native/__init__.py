"""The simulator held against a second one, in C: its own structures, the loader's real way."""
