"""Megatron-LM, Megatron Core, Megatron-DeepSpeed and GPT-NeoX: iteration lines and timers."""

from functools import lru_cache
from typing import Any

import msgspec

from diagnostics.expression import Expression
from diagnostics.series.forms.number import (
    LONGEST,
    NUMBER,
    SHAPES,
    Span,
    count,
    measure,
    read,
    shape,
    shaped,
)
from diagnostics.series.point import Numbers

ANCHORS = (
    r"elapsed time per iteration",
    r"all-grads-sync",
    r"grads-reduce-scatter",
    r"grads-all-reduce",
    r"params-all-gather",
    r"forward-compute",
    r"backward-compute",
    r"batch-generator",
    r"mxrtt/rnk",
    r"     rank ",
)

#  [2026-11-30 02:11:09] iteration    41206/  500000 | consumed samples: 42194944 | elapsed time
#  per iteration (ms): 3021.4 | learning rate: 1.200E-04 | global batch size:  1024 | lm loss:
#  1.930000E+00 | loss scale: 1.0 | grad norm: 0.310 | number of nan iterations:   0 |
# GPT-NeoX:  samples/sec: 12.5 | iteration 10/ 900 | elapsed time per iteration (ms): 51.2 |
# Megatron-DeepSpeed: ... | elapsed time per iteration (s): 3.02 | ... | samples per second: 338.8
ITERATION = Expression(r"\biteration\s{0,12}(?P<step>\d{1,12})/")
# The cells that are read, by the end of their names. Of all that ends in "loss" it is the loss
# itself: not a scale, not the extra terms of experts.
ELAPSED = (("| elapsed time per iteration (ms):", 1.0), ("| elapsed time per iteration (s):", 1e3))
LOSS = Expression(r"(?:lm|total|[\w-]{1,20} lm)?[ _-]?loss")

#     all-grads-sync ................................: (12.31, 15.02)
#     grads-all-reduce ...............................: 14.70
TIMER = Expression(
    rf"\s{{0,12}}(?P<name>[a-z-]{{4,40}}) ?\.{{2,80}}:\s{{0,4}}"
    rf"(?:\((?P<least>{NUMBER}), (?P<most>{NUMBER})\)|(?P<one>{NUMBER}))"
)
TIMERS = {
    "all-grads-sync": "sync_ms",
    "grads-reduce-scatter": "sync_ms",
    "grads-all-reduce": "sync_ms",
    "params-all-gather": "gather_ms",
    "forward-compute": "forward_ms",
    "backward-compute": "backward_ms",
    "batch-generator": "data_ms",
}

# With --timing-log-option all, a list for each timer:
# times across ranks (ms):
#   forward-compute:
#      rank  0: 310.22
#      rank  1: 309.87
LISTED = Expression(r"  (?P<timer>[a-z-]{4,40}):")
OF_RANK = Expression(rf"     rank {{1,3}}(?P<rank>\d{{1,6}}): (?P<ms>{NUMBER})")

# megatron.core.utils: [2026-11-30 02:11:09] | MnRtt/Rnk: 3011.10ms/5 | MxRtt/Rnk: 3415.75ms/11 |
REPORT = Expression(
    rf"MnRtt/Rnk: (?P<fast>{NUMBER})ms/\d{{1,6}} \| "
    rf"MxRtt/Rnk: (?P<slow>{NUMBER})ms/(?P<rank>\d{{1,6}})\b"
)


class Cells(msgspec.Struct, frozen=True):
    """Where the numbers of an iteration line stand; None where a cell is absent or is no number."""

    step: Span
    elapsed: Span | None
    factor: float
    loss: Span | None
    norm: Span | None
    scale: Span | None
    rate: Span | None
    lr: Span | None
    skipped: Span | None
    batch: Span | None
    tells_skips: bool


def iteration(text: str) -> Numbers | None:
    """Return what an iteration line says, None where it is none."""
    cells = _cells(shape(text))
    if cells is None:
        return None
    elapsed, loss = _value(text, cells.elapsed), _value(text, cells.loss)
    skipped, norm = count(_value(text, cells.skipped)), _value(text, cells.norm)
    return Numbers(
        step=int(text[slice(*cells.step)]),
        loss=loss,
        # Some versions print 0.000 where they do not know it.
        grad_norm=None if norm == 0 and loss is not None else norm,
        loss_scale=measure(_value(text, cells.scale)),
        lr=measure(_value(text, cells.lr)),
        skipped=skipped or None,
        step_ms=measure(None if elapsed is None else elapsed * cells.factor),
        rate=measure(_value(text, cells.rate)),
        batch=count(_value(text, cells.batch)),
        # training_log() prints the loss only where its mean is above 0, which NaN is not; where
        # a step was skipped there is no mean.
        lost=loss is None and not skipped and cells.tells_skips,
    )


@lru_cache(maxsize=SHAPES)
def _cells(shape: bytes) -> Cells | None:
    """Return where the numbers stand in lines of one shape, None where they are no iteration's.

    The line has a dozen cells, and a log millions of such lines.
    """
    text = shaped(shape)
    step = _step(text)
    if step is None:
        return None
    elapsed, factor = None, 1.0
    for head, times in reversed(ELAPSED):
        if (span := _cell(text, head)) is not None:
            elapsed, factor = span, times
    return Cells(
        step=step,
        elapsed=elapsed,
        factor=factor,
        loss=_loss(text),
        norm=_cell(text, "| grad norm:"),
        scale=_cell(text, "| loss scale:"),
        rate=_cell(text, "| samples per second:"),
        lr=_cell(text, "| learning rate:"),
        skipped=_cell(text, "| number of skipped iterations:"),
        batch=_cell(text, "| global batch size:"),
        tells_skips="number of skipped iterations" in text,
    )


def timer(text: str) -> Numbers | None:
    """Return what a line of the block of timers says; the slowest rank counts."""
    timed = _timed(shape(text))
    if timed is None:
        return None
    field, value, least = timed
    said: dict[str, Any] = {field: _milliseconds(text, value)}
    if least is not None and field == "sync_ms":
        said["sync_least_ms"] = _milliseconds(text, least)
    return Numbers(**said)


def _milliseconds(text: str, span: Span) -> float | None:
    return measure(float(text[slice(*span)].replace(",", "")))


@lru_cache(maxsize=SHAPES)
def _timed(shape: bytes) -> tuple[str, Span, Span | None] | None:
    """Return the field of a timer, where its time stands, and that of the fastest rank if told."""
    hit = TIMER.search(shaped(shape))
    field = TIMERS.get(hit["name"]) if hit else None
    if hit is None or field is None:
        return None
    least = hit.span("least") if hit["least"] else None
    return field, hit.span("most" if hit["most"] else "one"), least


def across_ranks(text: str) -> Numbers | None:
    """Return one line of a list of times: its timer, or one rank's time."""
    line = text.rstrip()
    if hit := LISTED.fullmatch(line):
        return Numbers(listed=hit["timer"])
    hit = OF_RANK.fullmatch(line)
    value = measure(read(hit["ms"])) if hit else None
    return None if hit is None else Numbers(of_rank=int(hit["rank"]), of_rank_ms=value)


def stragglers(text: str) -> Numbers | None:
    """Return the slowest rank that Megatron's own detector names."""
    hit = REPORT.search(text)
    if hit is None:
        return None
    slow, fast = measure(read(hit["slow"])), measure(read(hit["fast"]))
    return Numbers(slowest=int(hit["rank"]), slow_ms=slow, fast_ms=fast)


def _step(text: str) -> Span | None:
    # Looking for a word is faster than looking for a pattern.
    at = text.find("iteration")
    while at >= 0:
        if hit := ITERATION.match(text, at):
            return hit.span("step")
        at = text.find("iteration", at + 9)
    return None


def _value(text: str, cell: Span | None) -> float | None:
    return None if cell is None else float(text[cell[0] : cell[1]])


def _cell(text: str, head: str) -> Span | None:
    """Return where the number of the cell stands that begins with *head*."""
    at = text.find(head)
    return None if at < 0 else _number(text, at + len(head))


def _number(text: str, at: int) -> Span | None:
    """Return the span from *at* to the end of its cell, None where that is no number."""
    end = text.find("|", at)
    end = end if end >= 0 else at + LONGEST
    try:
        float(text[at:end])
    except ValueError:
        return None
    return at, end


def _loss(text: str) -> Span | None:
    at = text.find("loss:")
    while at >= 0:
        start = text.rfind("|", 0, at) + 1
        cell = text[start : at + 4].strip()
        if LOSS.fullmatch(cell) and (value := _number(text, at + 5)) is not None:
            return value
        at = text.find("loss:", at + 5)
    return None
