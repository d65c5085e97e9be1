"""Tests of what the host tells about itself."""
