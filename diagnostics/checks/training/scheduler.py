"""How the scheduler ended the job, by its lines in the job's own log."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import faults_said
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "slurm_time_limit",
    "slurm_cancelled",
    "slurm_preempted",
    "slurm_node_fail",
    "slurm_oom_kill",
    "slurm_task_failed",
)


@check("training.scheduler", stage="training", faults=FAULTS, proved="documented")
def scheduler(seen: TrainingLogs) -> Iterator[Statement]:
    """No line says that the scheduler ended the job.

    An end by time, by hand or by a job of higher rank is nobody's fault: a note, no incident, and
    still why the job is over. A node that failed and memory that ran out are faults.
    """
    yield from faults_said(seen, FAULTS, "that the scheduler ended the job")
