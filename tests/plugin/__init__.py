"""What every test stands on: needs (tools, root), the loop's watch, hypothesis profiles."""
