"""The rules that hold here, compiled: those that are shipped."""

from functools import cache

from diagnostics.rules import kernel, rule
from diagnostics.rules.knowledge import Knowledge


@cache
def knowledge() -> Knowledge:
    """Return rules and anchors; reading and compiling them costs some 15 ms, once a process."""
    return Knowledge.of((*rule.load(), *kernel.load()))
