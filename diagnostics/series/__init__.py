"""Numbers that training logs print, as typed series."""
