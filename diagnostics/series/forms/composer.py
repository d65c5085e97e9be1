"""MosaicML's Composer: a block for each batch, a number in each of its lines."""

from diagnostics.expression import Expression
from diagnostics.series.forms.number import NUMBER, measure, read
from diagnostics.series.point import Numbers

ANCHORS = (r"\[batch=", r"train throughput/", r"train l2_norm/grad/global")

# [batch=31/4800]:
#          Train time/batch: 30
#          Train loss/train/total: 6.8213
#          Train l2_norm/grad/global: 0.7125
#          Train throughput/batches_per_sec: 0.4127
#          Train throughput/tokens_per_sec: 108224.5
BATCH = Expression(r"\[batch=(?P<step>\d{1,12})/\d{1,12}\]:")
LINE = Expression(rf"\bTrain (?P<name>[\w/-]{{1,80}}): (?P<value>{NUMBER})\s{{0,4}}$")


def composer(text: str) -> Numbers | None:
    """Return what one line of a block says; its first line has the step."""
    if hit := BATCH.search(text):
        return Numbers(step=int(hit["step"]))
    hit = LINE.search(text)
    value = read(hit["value"]) if hit else None
    return None if hit is None or value is None else _named(hit["name"], value)


def _named(name: str, value: float) -> Numbers | None:
    said: Numbers | None = None
    match name:
        case "loss/train/total":
            said = Numbers(loss=value, more=True)
        case "l2_norm/grad/global":
            said = Numbers(grad_norm=value, more=True)
        case "throughput/tokens_per_sec":
            said = Numbers(rate=measure(value) or None, more=True)
        case "throughput/batches_per_sec" if value > 0:
            said = Numbers(step_ms=measure(1e3 / value), more=True)
    return said
