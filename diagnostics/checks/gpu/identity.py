"""Whether each GPU knows who it is: the small memory on its board that says so."""

from collections.abc import Iterator

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import check
from diagnostics.checks.gpu import asked, untold
from diagnostics.finding import Evidence, Finding, Statement, Well, found

VALIDATE, CORRUPTED = "nvmlDeviceValidateInforom", 14
MESSAGE = "GPU {gpu} has a corrupted InfoROM: its record of errors and repairs cannot be trusted"


@check("gpu.identity", stage="driver", faults=("gpu_inforom_corrupted",), proved="documented")
def identity(health: GpuHealth) -> Iterator[Statement]:
    """Each GPU's InfoROM is whole.

    The board keeps its serial number, its ECC counts and its list of remapped rows there. With it
    damaged, a repair of memory is forgotten at the next reset, and the error comes back in a job.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    valid = [gpu for gpu in health.answering() if gpu.inforom_state == "valid"]
    for gpu in health.answering():
        if gpu.inforom_state == "corrupted":
            yield _corrupted(gpu)
        elif gpu.inforom_state is None:
            yield from untold.silent(gpu, "inforom_state", "InfoROM")
    yield from untold.none_of(health, _tells, "no GPU here has an InfoROM that can be checked")
    if valid:
        yield Well(message=f"{asked.some(health, valid)}: InfoROM whole")


def _tells(gpu: GpuReading) -> bool:
    return gpu.inforom_state is not None


def _corrupted(gpu: GpuReading) -> Finding:
    return found(
        "gpu_inforom_corrupted",
        "warning",
        asked.subject(gpu),
        MESSAGE,
        Evidence(source=VALIDATE, values={"code": CORRUPTED, "image": gpu.inforom}),
        confidence=0.98,
        gpu=asked.named(gpu),
    )
