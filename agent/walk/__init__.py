"""One pass over the node: stage by stage, collect at once, then judge; then join what was found."""
