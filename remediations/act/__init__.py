"""Do what was decided: evidence, lease, begin, steps, verification, end or the way back."""
