"""Makes the recordings beside it anew from typed parts: `python -m tests.nodes.build [NAME]...`.

`folder` is the layout on disk; `host`, `gpus` and `network` turn parts into its files; `node` puts
a whole node together; `models` are the well nodes, `sick` what happens to them.
"""
