"""Whether files could not be written or read, by what the program was told."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import faults_said
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "disk_full",
    "disk_quota_exceeded",
    "stale_file_handle",
    "read_only_filesystem",
    "storage_io_error",
    "checkpoint_write_failed",
)


@check("training.files", stage="training", faults=FAULTS, proved="documented")
def files(seen: TrainingLogs) -> Iterator[Statement]:
    """No file or checkpoint failed the program.

    A full disk or quota shows in the job first, and often as a broken checkpoint: what the
    operating system answered is the cause.
    """
    yield from faults_said(seen, FAULTS, "that a file or checkpoint failed")
