"""What is known of each fault: `pages.load()` gives one page per fault id, as `gpudiag explain` shows it.

The pages are data, in `pages/*.toml`, one file per family of faults; a fault without a page does not exist.
"""
