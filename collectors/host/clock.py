"""The wall clock: how far off it is, by the kernel's word and by chrony's."""

import math

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# <linux/timex.h>: phase-locked loop in use, clock unsynchronised; adjtimex(2): TIME_ERROR
STA_PLL, STA_UNSYNC, TIME_ERROR = 0x0001, 0x0040, 5
# chronyc -n -c tracking: reference id and address, stratum, time, offset of the system's time, last
# and RMS offset, frequency, residual, skew, root delay, root dispersion, interval, leap status:
# C0000217,192.0.2.23,3,1796053274.113,-0.000031,0.000012,0.000040,
# -11.2,0.001,0.03,0.008,0.0007,64.5,Normal
FIELDS, OFFSET, LEAP = 14, 4, 13


class Clock(Observation, frozen=True, kw_only=True):
    """The clock's state; `offset_s` is how far it is off, None where nobody compares it.

    `source` names who says so: `adjtimex` (the kernel) or `chronyc`; `text` is chrony's line.
    """

    synchronised: bool
    offset_s: float | None = None
    max_error_s: float | None = None
    source: str = "adjtimex"
    text: str | None = None


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """What adjtimex(2) says."""

    state: int
    status: int
    offset_s: float
    max_error_s: float
    estimated_error_s: float


async def collect(node: Node, wanted: Wanted) -> Clock | Missing:
    """Ask chrony where it answers, else the kernel."""
    del wanted
    told = await node.command("chronyc", "-n", "-c", "tracking", deadline_s=3.0)
    if isinstance(told, Output) and (clock := parse(told.stdout)) is not None:
        return clock
    answer = await node.ask("clock")
    if isinstance(answer, Missing):
        return answer
    try:
        return judged(msgspec.convert(answer, Kernel))
    except msgspec.ValidationError as problem:
        return Missing(what="Clock", cause=Cause.GARBLED, detail=str(problem)[:200])


def judged(kernel: Kernel) -> Clock:
    """Return the kernel's word; its offset counts only while a time service steers by it."""
    synchronised = not kernel.status & STA_UNSYNC and kernel.state != TIME_ERROR
    steered = synchronised and bool(kernel.status & STA_PLL)
    return Clock(
        synchronised=synchronised,
        offset_s=kernel.offset_s if steered else None,
        max_error_s=kernel.max_error_s if synchronised else None,
    )


def parse(text: str) -> Clock | None:
    """Return what a line of `chronyc -c tracking` says, None where it is no such line."""
    fields = text.strip().split(",")
    if len(fields) != FIELDS:
        return None
    try:
        offset = float(fields[OFFSET])
    except ValueError:
        return None
    if not math.isfinite(offset):
        return None
    synchronised = fields[LEAP] != "Not synchronised"
    return Clock(
        synchronised=synchronised,
        offset_s=offset if synchronised else None,
        source="chronyc",
        text=text.strip(),
    )
