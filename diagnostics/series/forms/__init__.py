"""How frameworks print their numbers: a module for each kind of line, samples above patterns."""
