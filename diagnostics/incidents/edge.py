"""One edge of the graph of causes."""

from typing import Literal

import msgspec

# `whole`: the consequence is told of the node as a whole, the cause is another fault, or of one
# thing of it.
# `log`: both are told by a job's own logs; `above`: and the cause first, by its line or its time.
# `source`: both quote one log or tool.
# `nic`: one network card: a card, a port of it, its interface, where both are known to be of it.
# `array`: the consequence quotes an array of disks, of whose kind the cause is.
# `heard`: the node itself tells the cause, a job's log alone the consequence.
Same = Literal[
    "node",
    "subject",
    "job",
    "pid",
    "nic",
    "array",
    "whole",
    "log",
    "above",
    "source",
    "heard",
]
# `first`: the cause began before the consequence was told, as far as both clocks can say.
# `near`: one event is told twice, by whichever comes first: `within_s` holds on both sides.
Direction = Literal["any", "first", "near"]


class Edge(msgspec.Struct, frozen=True):
    """*cause* explains *consequence* where both name the same thing.

    Where `within_s` is given, the consequence began so soon after a line of the cause; what has no
    time is taken to be near on the same thing, and far on another one.
    """

    cause: str
    consequence: str
    same: Same
    within_s: float | None = None
    direction: Direction = "any"
