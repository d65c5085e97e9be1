"""Progress bars of tqdm and Lightning: step and clock, drawn anew with each step."""

import msgspec

from diagnostics.expression import Expression
from diagnostics.series.forms.number import read
from diagnostics.series.forms.pairs import pairs
from diagnostics.series.point import Numbers

ANCHORS = (r"it/s]", r"it/s, ", r"s/it]", r"s/it, ")

#  14%|█▍        | 377/2724 [13:55:57<86:19:20, 132.41s/it]
# Epoch 2:  31%|███       | 812/2604 [11:20<25:01,  1.19it/s, v_num=4, train_loss=2.310]
BAR = Expression(
    r"(?P<name>[^|]{0,80})\|[^|]{0,200}\| ?(?P<step>\d{1,9})/(?P<total>\d{1,9}) "
    r"\[(?P<elapsed>[\d:]{4,12})<[^,\]]{1,12},\s{0,4}(?:[\d.]{1,12}(?:it/s|s/it)|\?it/s)(?P<rest>.*)"
)
# What may stand before a bar that counts steps of training: who wrote it, and Epoch 2 or Train.
TRAINING = Expression(
    r"(?i)^(?:\[[^\]]{1,60}\]:?|\([^)]{1,60}\)|\d{1,6}:|\s){0,6}"
    r"(?:train\w{0,8}|epoch|step|steps|iter|iteration)?[\s\d/:%]*$"
)
EPOCH = Expression(r"(?i)\bepoch[: ]{1,3}\[?(\d{1,6})\b")


def bar(text: str) -> Numbers | None:
    """Return step, clock and the numbers that a bar carries; None for a bar of something else."""
    hit = BAR.search(text)
    if hit is None or not TRAINING.match(hit["name"]):
        return None
    step, total = int(hit["step"]), int(hit["total"])
    epoch = EPOCH.search(hit["name"])
    step += total * int(epoch[1]) if epoch else 0
    carried = pairs(hit["rest"]) or Numbers()
    own = carried.step if carried.step is not None else step
    # NeMo's bars count the time of a step themselves.
    clock = None if carried.step_ms is not None else _seconds(hit["elapsed"])
    return msgspec.structs.replace(carried, step=own, elapsed_s=clock)


def _seconds(clock: str) -> float | None:
    """Return the seconds of 11:20 or 13:55:57."""
    total = 0.0
    for part in clock.split(":"):
        value = read(part)
        if value is None:
            return None
        total = total * 60 + value
    return total
