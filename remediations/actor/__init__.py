"""The only hand: a root helper with fixed verbs, of its own unit and package.

`gate` decides whether a verb may be done, `journal` remembers what was begun and done, `trust`
reads the root-owned policy; the verbs lie in modules by subject. Standard library and pynvml only.
"""
