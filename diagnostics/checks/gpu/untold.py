"""What GPUs do not tell: a thing that the product does not have, or one that could not be read."""

from collections.abc import Callable, Iterator

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.checks.gpu import asked
from diagnostics.finding import NotApplicable, Unseen

# nvml.h: an unknown field id (a driver older than the field), not supported, no such function, an
# older version of the structure. A value that is absent without a code was not asked for.
HAS_NOT = frozenset({None, 2, 3, 13, 25})


def silent(gpu: GpuReading, field: str, what: str) -> Iterator[Unseen]:
    """Yield that *field* of a GPU could not be read, unless this GPU or driver has it not."""
    if gpu.failed.get(field) not in HAS_NOT:
        yield asked.unread(gpu, what)


def none_of(
    health: GpuHealth, tells: Callable[[GpuReading], bool], why: str
) -> Iterator[NotApplicable]:
    """Yield that there is nothing to judge where no GPU *tells* it."""
    if not any(tells(gpu) for gpu in health.gpus):
        yield NotApplicable(why=why)
