"""What the driver itself wants to be done with each GPU."""

from collections.abc import Iterator, Mapping

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import check
from diagnostics.checks.gpu import asked, untold
from diagnostics.finding import Evidence, Finding, Severity, Statement, Well, found

ACTION, RESET_REQUIRED = "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", 16
FIELD = "nvmlDeviceGetFieldValues"
# nvml.h, nvmlDeviceGpuRecoveryAction_t. Up to here releases agree; 5 is a reset of the bus in
# driver 580 and the recovery of an IMEX domain from 610 on.
AGREED: Mapping[int, tuple[Severity, str, str]] = {
    1: ("critical", "reset", "GPU {gpu} must be reset, says the driver (recovery action 1)"),
    2: ("critical", "reboot", "GPU {gpu} needs this node rebooted, says the driver (action 2)"),
    3: (
        "critical",
        "drain_p2p",
        "GPU {gpu} needs peer traffic stopped before its reset, says the driver (action 3)",
    ),
    4: (
        "warning",
        "drain_and_reset",
        "GPU {gpu} should be drained and reset, says the driver (recovery action 4)",
    ),
}
OTHER = (
    "GPU {gpu} asks for recovery action {action}, which drivers of different releases mean"
    " differently (this one is {driver}): a person decides"
)
REFUSED = "GPU {gpu} must be reset: NVML refuses calls to it (code 16)"


@check("gpu.recovery", stage="driver", faults=("gpu_reset_required",), proved="documented")
def recovery(health: GpuHealth) -> Iterator[Statement]:
    """No GPU waits for a reset, a reboot or a drain by the word of the driver.

    A GPU that waits for a reset still looks alive to nvidia-smi while programs on it fail. The
    driver says itself which of reset, reboot or drain it takes.
    """
    if (why := asked.asked(health)) is not None and not _refused_at_all(health):
        yield why
        return
    for gpu in health.gpus:
        if _refuses(gpu):
            yield _refused(gpu)
        elif gpu.recovery_action:
            yield _wanted(gpu, gpu.recovery_action, health.driver)
        elif gpu.error is None and gpu.recovery_action is None:
            yield from untold.silent(gpu, "recovery_action", "recovery action")
    yield from untold.none_of(health, _tells, "the driver does not tell what a GPU needs")
    if well := [gpu for gpu in health.answering() if gpu.recovery_action == 0]:
        yield Well(message=f"{asked.some(health, well)}: the driver wants no recovery")


def _tells(gpu: GpuReading) -> bool:
    return gpu.recovery_action is not None or _refuses(gpu)


def _refuses(gpu: GpuReading) -> bool:
    return RESET_REQUIRED in (gpu.error, *gpu.failed.values())


def _refused_at_all(health: GpuHealth) -> bool:
    return any(_refuses(gpu) for gpu in health.gpus)


def _refused(gpu: GpuReading) -> Finding:
    values = {"error": gpu.error, "failed": dict(gpu.failed)}
    return found(
        "gpu_reset_required",
        "critical",
        asked.subject(gpu),
        REFUSED,
        Evidence(source="NVML", values=values),
        variant="nvml_16",
        confidence=0.95,
        gpu=asked.named(gpu),
    )


def _wanted(gpu: GpuReading, action: int, driver: str | None) -> Finding:
    severity, variant, template = AGREED.get(action, ("warning", "other", OTHER))
    return found(
        "gpu_reset_required",
        severity,
        asked.subject(gpu),
        template,
        Evidence(source=FIELD, values={ACTION: action, "driver": driver}),
        variant=variant,
        confidence=0.98 if action in AGREED else 0.6,
        gpu=asked.named(gpu),
        action=action,
        driver=driver or "of unknown version",
    )
