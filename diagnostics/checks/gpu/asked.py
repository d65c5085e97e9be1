"""What every check of GPU health shares: whom to judge, how to name them, what was not seen."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from collectors.facts.observation import Cause, Missing
from collectors.facts.pci import function
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.finding import NotApplicable, Statement, Unseen

WHAT = "NVML"

T = TypeVar("T", bound=Hashable)


def asked(health: GpuHealth) -> Statement | None:
    """Return why no GPU can be judged, None where at least one answers.

    One that does not is told of by driver.answers; the checks here judge the others.
    """
    if not health.loaded:
        return NotApplicable(why="no NVIDIA driver is loaded")
    if health.init_error is not None:
        return _unseen(f"NVML did not start (code {health.init_error})")
    if not _known(health):
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


def named(gpu: GpuReading) -> str:
    """Return a GPU as both nvidia-smi and lspci know it: `3 (0000:4e:00.0)`."""
    return f"{gpu.index} ({function(gpu.pci)})" if gpu.pci else str(gpu.index)


def bits(reasons: int | None) -> str | None:
    """Return clock event reasons as nvml.h and nvidia-smi write them: `0x48`."""
    return None if reasons is None else f"{reasons:#x}"


def some(health: GpuHealth, gpus: Sequence[GpuReading] | None = None) -> str:
    """Return how many GPUs were judged, "8 GPUs", or "7 of 8 GPUs" where one was not."""
    judged = len(gpus) if gpus is not None else sum(1 for _ in health.answering())
    known = _known(health)
    noun = "GPU" if known == 1 else "GPUs"
    return f"{judged} {noun}" if judged == known else f"{judged} of {known} {noun}"


def unread(gpu: GpuReading, what: str) -> Unseen:
    """Return that the driver does not tell *what* of a GPU that answers."""
    detail = f"the driver does not tell the {what} of GPU {named(gpu)}"
    missing = Missing(what=f"{what} of GPU {named(gpu)}", cause=Cause.CRASHED, detail=detail)
    return Unseen(missing=missing, subject=subject(gpu))


def by_product(gpus: Iterable[GpuReading]) -> Iterator[list[GpuReading]]:
    """Yield the GPUs that can be compared with each other: those of one product."""
    groups: dict[str | None, list[GpuReading]] = {}
    for gpu in gpus:
        groups.setdefault(gpu.name, []).append(gpu)
    yield from groups.values()


def usual(values: Iterable[T | None]) -> T | None:
    """Return what more than half of the others have, and at least two; None where nothing is.

    Called with the values of the siblings alone.
    """
    known = [value for value in values if value is not None]
    value, count = Counter(known).most_common(1)[0] if known else (None, 0)
    return value if count > 1 and count > len(known) / 2 else None


def _known(health: GpuHealth) -> int:
    return max(len(health.gpus) + len(health.stuck) + len(health.held_back), health.count or 0)


def _unseen(detail: str) -> Unseen:
    return Unseen(missing=Missing(what=WHAT, cause=Cause.CRASHED, detail=detail))
