"""The rules that hold here, compiled: those that are shipped."""

from functools import cache

from diagnostics.rules.reading import Knowledge
from diagnostics.rules.rule import load


@cache
def knowledge() -> Knowledge:
    """Return rules and anchors; reading and compiling them costs some 15 ms, once a process."""
    return Knowledge(load())
