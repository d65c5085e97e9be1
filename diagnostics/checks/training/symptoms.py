"""Whether a GPU failed the job, by what CUDA and the frameworks print."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.device_memory import holders
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.judging import finding, nothing, stories
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "cuda_oom",
    "cuda_device_assert",
    "cuda_illegal_memory_access",
    "cuda_launch_failure",
    "cuda_unknown_error",
    "ecc_uncorrectable",
    "nvlink_error",
    "fabric_manager_not_ready",
    "driver_library_mismatch",
    "nvml_no_devices",
    "gpu_init_failed",
    "gpu_count_mismatch",
)


@check(
    "training.symptoms",
    stage="training",
    faults=(*FAULTS, "gpu_memory_held_by_other_process"),
    proved="documented",
)
def symptoms(seen: TrainingLogs) -> Iterator[Statement]:
    """No line of the given logs says that a GPU failed the job.

    A job that ends says why in its own log, often in one line among a thousand that follow from
    it. Each fault is one finding with its first line, its ranks and its count.
    """
    yield from unread(seen)
    groups = [(story, told) for story in stories(seen) for told in story.of(FAULTS)]
    for story, told in groups:
        if told[0].hit.fault == "cuda_oom":
            yield from holders(told, story.severity(told))
        else:
            yield finding(told, story.severity(told))
    if seen.logs and not groups:
        yield nothing(seen, "that a GPU failed the job")
