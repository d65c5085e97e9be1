"""A recording in memory and on disk: `history` holds it, `loader` reads it, `writer` writes it."""
