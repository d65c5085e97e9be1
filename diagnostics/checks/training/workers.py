"""Whether workers ended by a signal, or for want of memory, shared memory or files."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import faults_said
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "worker_sigkill",
    "segfault",
    "worker_crashed",
    "external_sigterm",
    "external_sighup",
    "dataloader_worker_killed",
    "process_oom_killed",
    "shm_exhausted",
    "host_memory_error",
    "file_descriptors_exhausted",
)


@check("training.workers", stage="training", faults=FAULTS, proved="documented")
def workers(seen: TrainingLogs) -> Iterator[Statement]:
    """No worker was killed, crashed, or lacked what the host has to give.

    A signal does not say who sent it: the kernel's or the scheduler's own line does, where there is
    one. A crash beside another error is that error's last word.
    """
    yield from faults_said(seen, FAULTS, "that a worker was killed or crashed")
