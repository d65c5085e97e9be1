"""Tell the number lines of frameworks apart, and read each in its form."""

from collections.abc import Callable

import msgspec

from diagnostics.series import configuration
from diagnostics.series.forms import (
    bandwidth,
    bars,
    composer,
    deepspeed,
    megatron,
    pairs,
    serving,
)
from diagnostics.series.point import Numbers

# What finds the lines, for the one pass over a log; matched in any case of letters.
ANCHORS = tuple(
    dict.fromkeys(
        (
            *megatron.ANCHORS,
            *deepspeed.ANCHORS,
            *pairs.ANCHORS,
            *bars.ANCHORS,
            *bandwidth.ANCHORS,
            *composer.ANCHORS,
            *serving.ANCHORS,
            *configuration.ANCHORS,
        )
    )
)


def _overflow(text: str) -> Numbers | None:
    """Return what a loss scaler says; it writes on where a bar has ended without a line end."""
    said = deepspeed.scale(text)
    at = bars.bar(text) if said is not None else None
    if said is None or at is None:
        return said
    return msgspec.structs.replace(said, step=at.step, elapsed_s=at.elapsed_s)


# The first word that stands in a line decides its form: looking for a word is fast.
FORMS: tuple[tuple[str, Callable[[str], Numbers | None]], ...] = (
    ("elapsed time per iteration", megatron.iteration),
    ("time (ms) |", deepspeed.timers),
    ("....", megatron.timer),
    ("MxRtt/Rnk", megatron.stragglers),
    ("oss scale", _overflow),
    ("it/s", bars.bar),
    ("s/it", bars.bar),
    ("hroughput", serving.serving),
    ("[batch=", composer.composer),
    ("Train ", composer.composer),
    ("     rank ", megatron.across_ranks),
    ("-compute:", megatron.across_ranks),
    ("busbw", bandwidth.bandwidth),
    ("float ", bandwidth.bandwidth),
    ("half ", bandwidth.bandwidth),
    ("", pairs.pairs),
)


def numbers(text: str) -> Numbers | None:
    """Return what a line says in any of the forms, None where it says nothing."""
    for word, form in FORMS:
        if word in text and (said := form(text)) is not None:
            return said
    return None
