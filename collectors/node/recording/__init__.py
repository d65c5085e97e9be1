"""A recording: `journal` and `history` hold it, `loader` reads it, `writer` writes it scrubbed.

`scrub` takes out what must not leave a site: `secrets` says what that is, `names` what stands
in for it.
"""
