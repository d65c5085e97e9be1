"""Draw a document for people: sentences first, then the proof."""
