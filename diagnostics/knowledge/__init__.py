"""What is known of each fault: `pages.load()` gives one page per fault id, for `explain`.

The pages are data, in `pages/*.toml`, one file per family of faults. Their keys are the list of
fault ids: a fault without a page does not exist.
"""
