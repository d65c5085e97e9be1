"""What every check of GPU health shares: whom to judge, how to name them, what was not seen."""

from collections.abc import Sequence

from collectors.facts.observation import Cause, Missing
from collectors.facts.pci import function
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.finding import NotApplicable, Statement, Unseen

WHAT = "NVML"


def asked(health: GpuHealth) -> Statement | None:
    """Return why no GPU can be judged, None where at least one answers.

    One that does not is told of by driver.answers; the checks here judge the others.
    """
    if not health.loaded:
        return NotApplicable(why="no NVIDIA driver is loaded")
    if health.init_error is not None:
        return _unseen(f"NVML did not start (code {health.init_error})")
    if not health.gpus:
        return NotApplicable(why="the driver lists no GPU")
    if not any(health.answering()):
        return _unseen("no GPU answers")
    return None


def subject(gpu: GpuReading) -> Subject:
    """Return the GPU by its address, with what else names it."""
    return Subject(
        kind="gpu",
        name=address(gpu),
        index=gpu.index,
        uuid=gpu.uuid,
        serial=gpu.serial,
    )


def address(gpu: GpuReading) -> str:
    """Return its PCI address as sysfs spells it; its index where NVML does not tell it."""
    return function(gpu.pci) if gpu.pci else gpu.key


def some(health: GpuHealth, gpus: Sequence[GpuReading] | None = None) -> str:
    """Return how many GPUs were judged, "8 GPUs", or "7 of 8 GPUs" where one was not."""
    judged = len(gpus) if gpus is not None else sum(1 for _ in health.answering())
    known = max(len(health.gpus), health.count or 0)
    noun = "GPU" if known == 1 else "GPUs"
    return f"{judged} {noun}" if judged == known else f"{judged} of {known} {noun}"


def before(health: GpuHealth) -> dict[str, GpuReading]:
    """Return the earlier readings by the GPU's key."""
    return {gpu.key: gpu for gpu in health.before}


def _unseen(detail: str) -> Unseen:
    return Unseen(missing=Missing(what=WHAT, cause=Cause.CRASHED, detail=detail))
