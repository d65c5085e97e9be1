"""Whether people work on this node."""

from collections.abc import Iterator
from typing import Any

from collectors.jobs.maintenance import Maintenance
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Well, found

UNDER = "{by} says that this node is under maintenance"
UNDER_FOR = "{by} says that this node is under maintenance: {reason}"


@check(
    "jobs.maintenance",
    stage="processes",
    faults=("node_under_maintenance",),
    proved="real-tool",
)
def maintenance(seen: Maintenance) -> Iterator[Statement]:
    """Nobody works on this node.

    Who opens a chassis or reboots for new firmware sees links, GPUs and services go: that is told,
    and no incident is made of it. What is still there afterwards is one.
    """
    if seen.by is None and seen.heard:
        yield Well("the aggregator knows of no work on this node")
        return
    if seen.by is None:
        yield NotApplicable(why="Slurm says nothing of maintenance, and no aggregator is heard")
        return
    args: dict[str, Any] = {"by": "Slurm" if seen.by == "slurm" else seen.by}
    if seen.reason:
        args["reason"] = seen.reason
    yield found(
        "node_under_maintenance",
        "info",
        NODE,
        UNDER_FOR if seen.reason else UNDER,
        Evidence(
            source=seen.source,
            text=seen.text,
            values={} if seen.until is None else {"until": seen.until},
        ),
        variant="reason" if seen.reason else "",
        confidence=1.0,
        **args,
    )
