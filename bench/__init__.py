"""Measurements; nothing here passes or fails a test."""
