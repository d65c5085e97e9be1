"""Which fault can cause which: declared, so that one can read and argue about it."""

from typing import Literal

import msgspec

Same = Literal["node", "subject", "job", "pid"]


class Edge(msgspec.Struct, frozen=True):
    """*cause* explains *consequence* where both name the same thing."""

    cause: str
    consequence: str
    same: Same


EDGES: tuple[Edge, ...] = ()
