"""Names with values, as most frameworks print a step: `loss: 2.31  grad_norm: 0.83`."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from diagnostics.expression import Expression
from diagnostics.series.forms.number import (
    NUMBER,
    SHAPES,
    TIMES,
    Span,
    above_zero,
    count,
    measure,
    read,
    shape,
    shaped,
)
from diagnostics.series.point import Numbers

ANCHORS = (r"loss", r"step_timing", r"grad_norm", r"gnorm", r"grad norm", r"samplespersec")

# HF Trainer: {'loss': 2.0491, 'grad_norm': 1.31, 'learning_rate': 0.000196, 'epoch': 0.28}
# step: 22  loss:  6.2250  grad_norm:  0.83  memory:  1.41GiB(1.79%)  tps: 193,831  mfu: 1.86%
# iteration: 10 / 100 | elapsed_time_per_iteration_ms: 1.23K | lm_loss: 10.5 | grad_norm: 1.2
# iteration 0/249 | global_step: 9 | reduced_train_loss: 1.315 | train_step_timing in s: 7.126 |
# train_inner | {"epoch": 1, "loss": "10.5", "num_updates": "100", "gnorm": "1.2", ...}
# completed step: 10, seconds: 1.234, TFLOP/s/device: 123.4, Tokens/s/device: 1234.5, loss: 9.876
# Epoch: [0]  [ 100/5004]  lr: 0.1  loss: 6.9 (6.95)  time: 0.4513  data: 0.0012
PAIR = Expression(
    r"(?<!\w)(?:(?P<word>[A-Za-z][\w/]{0,30})[ -])?(?P<name>[A-Za-z][\w/.()]{0,60})[\"']?\s?"
    rf"[:=]\s{{0,8}}[\"'\[]?(?P<value>{NUMBER})(?P<times>[KMBT](?![\w/]))?(?P<unit>\s?(?:ms|s)\b)?"
)
# iter 100: loss 2.3456, time 123.45ms        step 912 lr 0.0003 loss 2.31
# step   10/500 | loss 3.452 | norm 1.23 | lr 1.00e-04 | 123.45 ms
# epoch 001:    100 / 780 loss=10.5, ups=1.2
SPACED = Expression(
    r"(?i)(?:^|[\s|,(\[])(?P<word>)"
    r"(?P<name>step|iter|iteration|loss|train_loss|gnorm|grad_norm|norm|lr|time|dt|data)"
    rf"\s{{1,8}}(?P<value>{NUMBER})(?P<times>)(?P<unit>\s?(?:ms|s)\b)?"
)
# Epoch: [0][  10/5005]    Epoch(train) [1][  50/1000]    Train: 0 [  50/1251 (  4%)]
PLACE = Expression(
    r"(?i)(?:epoch|train)[^\[\d]{0,12}\[?(?P<epoch>\d{1,6})\]?:?\s{0,4}"
    r"\[\s{0,8}(?P<step>\d{1,9})/\s{0,8}(?P<total>\d{1,9})"
)
# The text of an evaluation: its loss is another one. A bar of training may carry it as well.
EVALUATION = Expression(
    r"(?i)\b(?:valid|validation|validating|eval|evaluation|evaluating|testing|test set)\b"
)
OTHER = frozenset(
    {
        *("val", "valid", "validation", "eval", "evaluation", "test", "dev", "best", "min", "max"),
        *("moe", "aux", "auxiliary", "z", "sop", "mtp", "balance", "balancing", "load_balancing"),
        *("kl", "router", "extra", "initial", "init", "last", "scale"),
    }
)
REWARDED = Expression(r"[\"'](?:reward|rewards/|kl|completion|objective/)")
NEMO = "train_step_timing in s"

# What a name means: the field, and what its value is multiplied with.
FIELDS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("global_step", "num_updates", "current_steps"), ("step", 1.0)),
    **dict.fromkeys(("loss", "train_loss", "lm_loss", "total_loss", "loss_step"), ("loss", 1.0)),
    **dict.fromkeys(("train/loss", "reduced_train_loss", "train_loss_step"), ("loss", 1.0)),
    **dict.fromkeys(("train/crossentropyloss", "loss/train/total"), ("loss", 1.0)),
    **dict.fromkeys(("grad_norm", "gnorm", "gradnorm", "total_grad_norm"), ("grad_norm", 1.0)),
    **dict.fromkeys(("grad norm", "gradient norm", "gradient_norm"), ("grad_norm", 1.0)),
    **dict.fromkeys(("train/grad_norm", "optim/total_grad_norm"), ("grad_norm", 1.0)),
    **dict.fromkeys(("loss_scale", "loss scale"), ("loss_scale", 1.0)),
    **dict.fromkeys(("lr", "learning_rate", "learning rate", "train/learning_rate"), ("lr", 1.0)),
    **dict.fromkeys(("step_time", "iter_time", "seconds", "iter time(s)"), ("step_ms", 1e3)),
    **dict.fromkeys(("time(s)", "time (s)", "step_time_s", "last_time"), ("step_ms", 1e3)),
    **dict.fromkeys(("elapsed_time_per_iteration_ms", "step_time_ms"), ("step_ms", 1.0)),
    **dict.fromkeys(("iteration_time_ms", "step_avg"), ("step_ms", 1.0)),
    **dict.fromkeys(("data_time", "data", "data_loading", "last_data_time"), ("data_ms", 1e3)),
    "time_metrics/data_loading(s)": ("data_ms", 1e3),
    **dict.fromkeys(("tps", "tokens_per_sec", "wps", "throughput"), ("rate", 1.0)),
    **dict.fromkeys(("samples/sec", "currsamplespersec", "tokens/s/device"), ("rate", 1.0)),
    **dict.fromkeys(("img/s", "images/sec", "tokens/s", "tok/s"), ("rate", 1.0)),
    **dict.fromkeys(("global_batch_size", "global batch size"), ("batch", 1.0)),
}
# A step by any of these names counts where none above stands beside it.
STEPS = frozenset(("step", "steps", "iter", "iteration", "completed step", "batch"))


# What a value must be to be believed.
Fit = Callable[[float], float | None]
FITS: Mapping[str, Fit] = {
    **dict.fromkeys(("loss", "grad_norm"), float),
    **dict.fromkeys(("loss_scale", "lr", "data_ms"), measure),
    **dict.fromkeys(("step_ms", "rate"), above_zero),
    **dict.fromkeys(("step", "batch"), count),
}


class Form(msgspec.Struct, frozen=True):
    """Where the values of a line stand: of each number the span, the factor, and what it must be.

    `place` are the spans of epoch, step and steps an epoch where these alone say the step.
    """

    cells: tuple[tuple[str, Fit, float, int, int], ...]
    place: tuple[Span, Span, Span] | None
    rewarded: bool


def pairs(text: str) -> Numbers | None:
    """Return what the names of a line say of a step, None where it is no line of a step."""
    text = text.replace(NEMO, "step_time_s").replace("time (s)", "time(s)")
    form = _form(shape(text))
    if form is None:
        return None
    said: dict[str, Any] = {}
    for field, fit, factor, start, stop in form.cells:
        value = read(text[start:stop])
        said[field] = value if value is None else fit(value * factor)
    if form.place is not None:
        epoch, at, total = (int(text[start:stop]) for start, stop in form.place)
        said["step"] = count(epoch * total + at)
    return Numbers(rewarded=form.rewarded, **said)


@lru_cache(maxsize=SHAPES)
def _form(shape: bytes) -> Form | None:
    """Return where the values stand in lines of one shape, None where they are no step's.

    No digit tells in any of the expressions.
    """
    text = shaped(shape)
    if EVALUATION.search(text):
        return None
    told: dict[str, tuple[float, int, int]] = {}
    for field, factor, start, stop in _told(text):
        told.setdefault(field, (factor, start, stop))
    any_step, clock = told.pop("any_step", None), told.pop("clock", None)
    if any_step is not None:
        told.setdefault("step", any_step)
    place = None if "step" in told else PLACE.search(text)
    # A time is the step's only where the wait for data stands beside it, or it has a unit.
    if clock is not None and "data_ms" in told:
        told.setdefault("step_ms", clock)
    if not told.keys() & {"loss", "grad_norm"} and (
        not ("step" in told or place) or not told.keys() & {"step_ms", "rate"}
    ):
        return None
    spans = (place.span("epoch"), place.span("step"), place.span("total")) if place else None
    cells = tuple((field, FITS[field], *cell) for field, cell in told.items())
    return Form(cells, spans, bool(REWARDED.search(text)))


def _told(text: str) -> Iterator[tuple[str, float, int, int]]:
    for pattern in (PAIR, SPACED):
        for hit in pattern.finditer(text):
            # A log has few names, and millions of lines with them.
            named = _field(hit["word"], hit["name"], hit["unit"])
            if named is not None:
                field, factor = named
                yield field, factor * TIMES[hit["times"] or ""], *hit.span("value")


@lru_cache(maxsize=1_024)
def _field(before: str | None, said: str, unit: str | None) -> tuple[str, float] | None:
    """Return the field that a name and the word before it mean, and what makes it milliseconds."""
    word, name = (before or "").lower(), said.lower().strip(".")
    both = f"{word} {name}"
    if name in {"time", "dt"}:
        factor = 1.0 if unit and unit.strip() == "ms" else 1e3
        return ("step_ms" if unit else "clock"), factor
    if name in STEPS:
        return "any_step", 1.0
    known = FIELDS.get(both) or (None if word in OTHER else FIELDS.get(name))
    if name == "norm" and not word:
        known = ("grad_norm", 1.0)
    if known is None or unit is None or known[0] not in {"step_ms", "data_ms"}:
        return known
    return known[0], 1.0 if unit.strip() == "ms" else 1e3
