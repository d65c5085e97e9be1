"""One cause behind many nodes: the same fault on over three that share something, at one time.

A switch that restarts, a file server that is silent, an image that was rolled out: on each node it
looks like the node's own fault, and taking the nodes away would make it worse.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

WINDOW_S = 300.0
MOST = 3


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A node that shows a fault since `since`; `shares` are like `switch=leaf-07`."""

    node: str
    since: float
    shares: tuple[str, ...] = ()


def objection(
    signature: str, own: Case, others: Iterable[Case], window_s: float = WINDOW_S, most: int = MOST
) -> str | None:
    """Return why *own* is one node of many, in words; None where it stands alone."""
    near = [one for one in others if abs(one.since - own.since) <= window_s]
    counts = Counter(
        share for one in near if one.node != own.node for share in set(one.shares) & set(own.shares)
    )
    if not counts:
        return None
    share, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    if count + 1 <= most:
        return None
    minutes = window_s / 60
    return (
        f"{signature} on {count + 1} nodes of {share} within {minutes:.0f} min: "
        "one incident of the infrastructure, no node is touched"
    )
