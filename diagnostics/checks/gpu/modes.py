"""How the GPUs are set up, and whether all of one node are set up alike."""

from collections.abc import Callable, Iterator, Sequence

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import NODE, check
from diagnostics.checks.gpu import asked, untold
from diagnostics.finding import Evidence, Finding, Statement, Well, found

# nvml.h, nvmlComputeMode_t
COMPUTE = {1: "one thread of one process", 2: "no process at all", 3: "one process at a time"}

SWITCHES: tuple[tuple[str, str, Callable[[GpuReading], bool | None]], ...] = (
    ("MIG", "nvmlDeviceGetMigMode", lambda gpu: gpu.modes.mig),
    ("GSP firmware", "nvmlDeviceGetGspFirmwareMode", lambda gpu: gpu.modes.gsp),
)

OFF = "persistence mode is off on {gpus}: each first use of them takes seconds"
RESTRICTED = "compute mode lets {who} use {gpus}"
MIXED = "{mode} is on for {on} of {all} GPUs"
WAITS = "{gpus}: MIG changes at the next reset, to {after}"


@check(
    "gpu.modes",
    stage="driver",
    faults=("persistence_mode_off", "gpu_compute_mode_restricted", "gpu_mode_mixed"),
    proved="documented",
)
def modes(health: GpuHealth) -> Iterator[Statement]:
    """All GPUs are set up alike, stay initialised between programs, and take any program.

    A GPU in another mode than its siblings fails or delays the start of a job that uses all of
    them, and nothing but the mode tells why. Each mode can be meant: these are notes.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    gpus = list(health.answering())
    notes = [*_persistence(gpus), *_compute(gpus), *_mixed(gpus), *_pending(gpus)]
    yield from notes
    told = [gpu for gpu in gpus if gpu.modes.persistence is not None]
    for gpu in gpus:
        if gpu not in told:
            yield from untold.silent(gpu, "modes.persistence", "persistence mode")
    yield from untold.none_of(health, lambda gpu: gpu in told, "the driver tells no mode")
    if told and not notes:
        yield Well(message=f"{asked.some(health, told)}: persistence on, modes alike")


def _persistence(gpus: Sequence[GpuReading]) -> Iterator[Finding]:
    if off := [gpu for gpu in gpus if gpu.modes.persistence is False]:
        yield found(
            "persistence_mode_off",
            "info",
            NODE,
            OFF,
            _evidence("nvmlDeviceGetPersistenceMode", gpus, lambda gpu: gpu.modes.persistence),
            gpus=_these(off, gpus),
        )


def _compute(gpus: Sequence[GpuReading]) -> Iterator[Finding]:
    for mode, who in COMPUTE.items():
        if chosen := [gpu for gpu in gpus if gpu.modes.compute == mode]:
            yield found(
                "gpu_compute_mode_restricted",
                "info",
                NODE,
                RESTRICTED,
                _evidence("nvmlDeviceGetComputeMode", gpus, lambda gpu: gpu.modes.compute),
                gpus=_these(chosen, gpus),
                who=who,
            )


def _mixed(gpus: Sequence[GpuReading]) -> Iterator[Finding]:
    for name, call, of in SWITCHES:
        told = [gpu for gpu in gpus if of(gpu) is not None]
        on = [gpu for gpu in told if of(gpu)]
        if 0 < len(on) < len(told):
            yield found(
                "gpu_mode_mixed",
                "info",
                NODE,
                MIXED,
                _evidence(call, told, of),
                mode=name,
                on=len(on),
                all=len(told),
            )


def _pending(gpus: Sequence[GpuReading]) -> Iterator[Finding]:
    for after in (True, False):
        waits = [
            gpu
            for gpu in gpus
            if gpu.modes.mig is not None and gpu.modes.mig_after_reset is after is not gpu.modes.mig
        ]
        if waits:
            yield found(
                "gpu_mode_mixed",
                "info",
                NODE,
                WAITS,
                _evidence("nvmlDeviceGetMigMode", waits, lambda gpu: gpu.modes.mig),
                variant="mig_pending",
                gpus=_these(waits, gpus),
                after="on" if after else "off",
            )


def _these(chosen: Sequence[GpuReading], gpus: Sequence[GpuReading]) -> str:
    if len(chosen) == len(gpus) > 1:
        return "both GPUs" if len(gpus) == 2 else f"all {len(gpus)} GPUs"  # noqa: PLR2004 - both
    return ("GPU " if len(chosen) == 1 else "GPUs ") + ", ".join(map(asked.named, chosen))


def _evidence(
    call: str, gpus: Sequence[GpuReading], of: Callable[[GpuReading], object]
) -> Evidence:
    return Evidence(source=call, values={asked.address(gpu): of(gpu) for gpu in gpus})
