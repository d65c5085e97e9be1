"""DeepSpeed: timers of steps and passes, and the loss scaler's own lines; apex and fairseq too."""

from collections.abc import Iterator

from diagnostics.expression import Expression
from diagnostics.series.forms.number import NUMBER, measure, read
from diagnostics.series.point import Numbers

ANCHORS = (
    r"time \(ms\) \|",
    r"loss scale: ",
    r"loss scale from ",
    r"reducing loss scale",
    r"setting loss scale to",
)

# [2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 0.59 |
# bwd: 22.18 | bwd_inner: 1.49 | bwd_allreduce: 20.64 | step: 5.50
# rank=0 time (ms) | fwd_microstep: 10.25 | bwd_microstep: 31.40 | step_microstep: 0.03
# rank=0 time (ms) | forward: 1012.50 | backward: 2310.75 | backward_allreduce: 88.20 | step: 9.10
# Megatron before timers were a block, and its fork:
# time (ms) | forward-compute: 310.22 | backward-compute: 640.90 | batch-generator: 2.10
TIMERS = Expression(r"time \(ms\) \|(?P<cells>.{0,4000})")
PARTS = (
    ("fwd", "bwd", "step"),
    ("forward", "backward", "step"),
    ("fwd_microstep", "bwd_microstep", "step_microstep"),
    ("forward_microstep", "backward_microstep", "step_microstep"),
)
SYNC = (
    "bwd_allreduce",
    "backward_allreduce",
    "bwd_allreduce_microstep",
    "backward_allreduce_microstep",
    "backward-params-all-reduce",
    "grads-all-reduce",
    "allreduce",
)
DATA = ("batch_input", "batch-generator", "batch generator")
FORWARD, BACKWARD = ("forward-compute", "forward"), ("backward-compute", "backward")

# [2026-11-30 02:11:09,120] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0
# Skipping step. Attempted loss scale: 65536, reducing to 32768
# [deepspeed] fp16 dynamic loss scale overflow! Skipping step. Attempted loss scale: 64.0, reducing
# to 32.0
LOWERED = Expression(
    rf"[Ll]oss scale: (?P<a>{NUMBER}), (?:but hysteresis is \d{{1,6}}|reducing to (?P<b>{NUMBER}))"
)
# [INFO] [fused_optimizer.py:345:_update_scale] Reducing dynamic loss scale from 32768.0 to 16384.0
FROM_TO = Expression(rf"[Rr]educing dynamic loss scale from (?P<a>{NUMBER}) to (?P<b>{NUMBER})")
# apex: Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0
# fairseq: NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0
LOWERED_TO = Expression(
    rf"(?i:overflow).{{0,80}}(?:reducing loss scale to|setting loss scale to:) (?P<b>{NUMBER})"
)


def timers(text: str) -> Numbers | None:
    """Return what a line of timers says; passes of a step are marked."""
    hit = TIMERS.search(text)
    if hit is None:
        return None
    cells = dict(_cells(hit["cells"]))
    sync = measure(_first(cells, SYNC))
    for parts in PARTS:
        if all(part in cells for part in parts):
            forward, backward, _ = (measure(cells[part]) for part in parts)
            return Numbers(
                step_ms=measure(sum(cells[part] for part in parts)),
                sync_ms=sync,
                forward_ms=forward,
                backward_ms=backward,
                data_ms=measure(_first(cells, DATA)),
                micro=parts[0].endswith("_microstep"),
            )
    # Megatron's old form times parts of a step that an iteration line has already summed up.
    said = Numbers(
        sync_ms=sync,
        forward_ms=measure(_first(cells, FORWARD)),
        backward_ms=measure(_first(cells, BACKWARD)),
        data_ms=measure(_first(cells, DATA)),
    )
    return None if said == Numbers() else said


def scale(text: str) -> Numbers | None:
    """Return the loss scale that an overflow left behind; its step was skipped."""
    hit = LOWERED.search(text) or FROM_TO.search(text)
    if hit is not None:
        tried = read(hit["a"])
        left = read(hit["b"]) if hit["b"] else tried
        return Numbers(skipped=1, scale_from=measure(tried), scale_to=measure(left))
    if hit := LOWERED_TO.search(text):
        return Numbers(skipped=1, scale_to=measure(read(hit["b"])))
    return None


def _first(cells: dict[str, float], names: tuple[str, ...]) -> float | None:
    return next((cells[name] for name in names if name in cells), None)


def _cells(text: str) -> Iterator[tuple[str, float]]:
    for cell in text.split("|"):
        name, _, value = cell.rpartition(":")
        if (number := read(value.strip())) is not None:
            yield name.strip(), number
