"""Why a loss may have stopped being a number: what the steps before it suggest, never a proof."""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from diagnostics.series.by_rank import Elsewhere
from diagnostics.series.middle import median
from diagnostics.series.point import Point
from diagnostics.series.scale import falls

Cause = Literal["precision", "learning rate", "data", "hardware", "unknown"]

# The steps before the first bad one that are looked at, and how many of them are just before it.
BEFORE, LAST = 200, 5
# How many times the gradient's norm or the loss grew, to call it a divergence.
STEEPER, HIGHER = 10.0, 1.5


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """The likeliest of four causes, what speaks for it, and what would tell it from the others."""

    cause: Cause
    why: str
    apart: str


APART: dict[Cause, str] = {
    "precision": "the same steps in bf16 or fp32 stay finite",
    "learning rate": "the same steps with a lower rate or clipping at 1.0 stay finite",
    "data": "the same batch gives NaN again on other nodes, and with another seed it does not",
    "hardware": "the same steps on other nodes stay finite: then test the GPU of that rank",
    "unknown": "repeat the steps from the last good checkpoint on other nodes: NaN in the same "
    "step is the data or the code, in none the hardware",
}


def triage(
    points: Sequence[Point],
    ranks: Sequence[int],
    *,
    broken: bool,
    elsewhere: Elsewhere | None = None,
) -> Lead:
    """Return the likeliest cause of a loss that is no number.

    *points* are the steps of the run before the first bad one. *ranks* are those that reported it
    by themselves, before gradients are exchanged; *broken* is whether the log tells of a memory
    error or another fault of a GPU as well. *elsewhere* is who printed the first bad step.
    """
    near = points[-BEFORE:]
    if (why := _of_hardware(ranks, elsewhere, broken=broken)) is not None:
        return _lead("hardware", why)
    lowered = [fall for fall in falls(near) if fall.times > 1]
    if lowered:
        fell = lowered[-1]
        return _lead("precision", f"the loss scale fell from {fell.started:g} to {fell.ended:g}")
    for name, values, times in (
        ("gradient norm", [p.grad_norm for p in near], STEEPER),
        ("loss", [p.loss for p in near], HIGHER),
    ):
        grown = _grown([v for v in values if v is not None and math.isfinite(v)])
        if grown is not None and grown >= times:
            return _lead("learning rate", f"the {name} had grown {grown:.3g} times in {LAST} steps")
    if len(near) > 2 * LAST:
        return _lead("data", "loss and gradients were calm in the steps before")
    return _lead("unknown", "too few steps are printed before it")


def _of_hardware(ranks: Sequence[int], elsewhere: Elsewhere | None, *, broken: bool) -> str | None:
    """Return what speaks for the hardware of one rank, None where nothing does."""
    if broken:
        return "the log also tells of a fault of a GPU"
    if elsewhere is not None and len(elsewhere.bad) == 1 and elsewhere.clean:
        others = len(elsewhere.clean)
        also = f"{others} other{' is' if others == 1 else 's are'} finite"
        why = f"rank {elsewhere.bad[0]} alone is not finite in step {elsewhere.step}, where {also}"
        return f"{why}; its batch is as likely"
    if len(ranks) == 1:
        return f"rank {ranks[0]} alone reported it; its batch is as likely"
    return None


def _lead(cause: Cause, why: str) -> Lead:
    return Lead(cause=cause, why=why, apart=APART[cause])


def _grown(values: Sequence[float]) -> float | None:
    """Return how many times the last values are those before."""
    if len(values) < LAST + 1:
        return None
    before = median(values[:-LAST])
    return max(values[-LAST:]) / before if before > 0 else None
