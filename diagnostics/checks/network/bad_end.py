"""Which end of a failed way is the bad one, by how each end does with others."""

from collections.abc import Mapping
from typing import Literal

# By (one end, other end): whether it was answered.
Tried = Mapping[tuple[str, str], bool]
End = Literal["first", "second", "between", "unknown"]


def bad_end(first: str, second: str, tried: Tried) -> End:
    """Return which end of the failed way from *first* to *second* is to blame.

    An end that reaches anybody else is good. One that reaches nobody of those it tried is bad, if
    the other one is good. Two good ends leave what lies between them. Where only *first* has tried
    others: if it reaches one, it is the second (its port, its cable, its last hop); if it reaches
    none of them either, it is the first.
    """
    ours, theirs = _others(first, second, tried), _others(second, first, tried)
    if any(ours) and any(theirs):
        return "between"
    if any(ours):
        return "second"
    return "first" if ours and (any(theirs) or not theirs) else "unknown"


def _others(end: str, other: str, tried: Tried) -> list[bool]:
    return [answered for pair, answered in tried.items() if end in pair and other not in pair]


def worst_end(tried: Tried) -> str | None:
    """Return the one name that stands in every failed way and in no other one, None without it.

    What remains of a whole test of all pairs: one bad cable fails all ways of its node.
    """
    failed = [set(pair) for pair, answered in tried.items() if not answered]
    if not failed:
        return None
    shared = set.intersection(*failed)
    good = {name for pair, answered in tried.items() if answered for name in pair}
    return next(iter(shared - good)) if len(shared - good) == 1 else None
