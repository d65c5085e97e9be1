"""Which fault can cause which: declared in `data/`, and what follows from tables of codes."""

from collections.abc import Iterator

from diagnostics.incidents.declared import load
from diagnostics.incidents.edge import Edge
from diagnostics.knowledge.aliases import WISH, XID
from diagnostics.knowledge.codes.events import ECHO_S
from diagnostics.knowledge.codes.tables import xids

# An Xid 45 is the driver's clearing up after what stands before it on the same GPU; 43 stops the
# channel of a program that failed.
CLEARED, STOPPED = "xid_45", "xid_43"
# What a program sees when its memory, its link or its GPU fails under it.
SEEN_BY_PROGRAM = ("xid_13", "xid_31", "xid_32", STOPPED)
UNDER_IT = ("gpu_fell_off_bus", "ecc_uncorrectable", "nvlink_error", "gsp_timeout")


def of_codes() -> Iterator[Edge]:
    """Yield what follows from an Xid, by what the table says of it."""
    named = dict.fromkeys(XID.values())
    yield from (edge for cause in named for edge in _cleared(cause))
    yield from (Edge(cause, WISH, "subject") for cause in named)
    yield from (Edge(cause, seen, "subject") for cause in UNDER_IT for seen in SEEN_BY_PROGRAM)
    for number, row in xids().items():
        fault = f"xid_{number}"
        if number in XID or fault in (CLEARED, WISH):
            continue
        yield from _cleared(fault)
        if row.severity != "info":
            yield Edge(fault, WISH, "subject")
            yield Edge(fault, "gpu_reset_required", "subject")
            yield Edge(fault, "nccl_collective_timeout", "node")
        elif row.recovery == "restart_job" and fault != STOPPED:
            yield Edge(fault, STOPPED, "subject")


def _cleared(cause: str) -> Iterator[Edge]:
    """Yield how a process's channels end: on the GPU that failed, and on its other ones."""
    yield Edge(cause, CLEARED, "subject", ECHO_S)
    yield Edge(cause, CLEARED, "pid", ECHO_S)


EDGES: tuple[Edge, ...] = (*load(), *of_codes())
