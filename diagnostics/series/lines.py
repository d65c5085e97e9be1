"""Parse the number lines of frameworks; each has a sample line above its pattern."""

import re
from collections.abc import Iterator

import msgspec

# What finds the lines below, for the one pass over a log; matched in any case of letters.
ANCHORS = (
    r"elapsed time per iteration",
    r"time \(ms\) \|",
    r"all-grads-sync",
    r"grads-reduce-scatter",
    r"grads-all-reduce",
)

LONGEST_NUMBER = 32
NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?|(?i:nan|inf(?:inity)?))"

#  [2026-11-30 02:11:09] iteration    41206/  500000 | consumed samples: 42194944 | elapsed time
#  per iteration (ms): 3021.4 | learning rate: 1.200E-04 | global batch size:  1024 | lm loss:
#  1.930000E+00 | loss scale: 1.0 | grad norm: 0.310 | number of nan iterations:   0 |
ITERATION = re.compile(r"\biteration\s{0,12}(?P<step>\d{1,12})/")
# The cells that are read, by the end of their names. Of all that ends in "loss" it is the loss
# itself: not a scale, not the extra terms of experts.
ELAPSED = "| elapsed time per iteration (ms):"
BATCH = "| global batch size:"
GRADIENT = "| grad norm:"
LOSS = re.compile(r"(?:[\w-]{1,20} )?loss")

# [2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 0.59 |
# bwd: 22.18 | bwd_inner: 1.49 | bwd_allreduce: 20.64 | step: 5.50
# rank=0 time (ms) | fwd_microstep: 10.25 | bwd_microstep: 31.40 | step_microstep: 0.03
# time (ms) | forward: 310.22 | backward: 640.90 | allreduce: 52.10 | optimizer: 14.80
TIMERS = re.compile(r"time \(ms\) \|(?P<cells>.{0,4000})")
PARTS = (("fwd", "bwd", "step"), ("fwd_microstep", "bwd_microstep", "step_microstep"))
SYNC = ("bwd_allreduce", "bwd_allreduce_microstep", "backward-params-all-reduce", "allreduce")

#     all-grads-sync ................................: (12.31, 15.02)
#     grads-all-reduce ...............................: 14.70
BLOCK = re.compile(
    rf"\s{{0,12}}(?:all-grads-sync|grads-reduce-scatter|grads-all-reduce) ?\.{{0,80}}:\s{{0,4}}"
    rf"(?:\({NUMBER}, (?P<most>{NUMBER})\)|(?P<one>{NUMBER}))"
)


class Numbers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one line says; times in milliseconds. `micro` is one of several passes of a step.

    A line with `sync_ms` alone belongs to the step printed before it.
    """

    step: int | None = None
    loss: float | None = None
    grad_norm: float | None = None
    step_ms: float | None = None
    sync_ms: float | None = None
    batch: int | None = None
    micro: bool = False


def numbers(text: str) -> Numbers | None:
    """Return what a line says in the forms above, None where it says nothing."""
    if "elapsed time per iteration" in text and (step := _step(text)) is not None:
        return _iteration(step, text)
    if hit := TIMERS.search(text):
        return _timers(dict(_cells(hit["cells"])))
    if hit := BLOCK.search(text):
        return Numbers(sync_ms=_finite(float(hit["most"] or hit["one"])))
    return None


def _cells(text: str) -> Iterator[tuple[str, float]]:
    for cell in text.split("|"):
        name, _, value = cell.rpartition(":")
        try:
            yield name.strip(), float(value)
        except ValueError:
            continue


def _step(text: str) -> int | None:
    # Looking for a word is faster than looking for a pattern.
    at = text.find("iteration")
    while at >= 0:
        if hit := ITERATION.match(text, at):
            return int(hit["step"])
        at = text.find("iteration", at + 9)
    return None


def _iteration(step: int, text: str) -> Numbers:
    # Looked for one by one: the line has a dozen cells, and a log millions of such lines.
    batch = _finite(_cell(text, BATCH))
    return Numbers(
        step=step,
        loss=_loss(text),
        grad_norm=_cell(text, GRADIENT),
        step_ms=_finite(_cell(text, ELAPSED)),
        batch=None if batch is None else int(batch),
    )


def _cell(text: str, head: str) -> float | None:
    """Return the number of the cell that begins with *head*."""
    at = text.find(head)
    return None if at < 0 else _number(text, at + len(head))


def _number(text: str, at: int) -> float | None:
    """Return the number from *at* to the end of its cell."""
    end = text.find("|", at)
    try:
        return float(text[at : end if end >= 0 else at + LONGEST_NUMBER])
    except ValueError:
        return None


def _loss(text: str) -> float | None:
    at = text.find("loss:")
    while at >= 0:
        start = text.rfind("|", 0, at) + 1
        cell = text[start : at + 4].strip()
        if LOSS.fullmatch(cell) and (value := _number(text, at + 5)) is not None:
            return value
        at = text.find("loss:", at + 5)
    return None


def _timers(cells: dict[str, float]) -> Numbers | None:
    sync = next((cells[name] for name in SYNC if name in cells), None)
    for parts, micro in zip(PARTS, (False, True), strict=True):
        if all(part in cells for part in parts):
            total = sum(cells[part] for part in parts)
            return Numbers(step_ms=_finite(total), sync_ms=_finite(sync), micro=micro)
    # Megatron's old form times parts of a step that an iteration line has already summed up.
    return None if sync is None else Numbers(sync_ms=_finite(sync))


def _finite(value: float | None) -> float | None:
    return value if value is not None and 0 <= value < float("inf") else None
