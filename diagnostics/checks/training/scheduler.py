"""How the scheduler ended the job, by its lines in the job's own log."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import Said, Story, finding, nothing, stories
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
    groups = [(story, told) for story in stories(seen) for told in story.of(FAULTS)]
    for story, told in groups:
        killed = _killed(story) if told[0].hit.fault == "slurm_oom_kill" else []
        more = "".join(f"; pid {said.hit.values['pid']} was one" for said in killed[:1])
        yield finding(told, story.severity(told), more, killed)
    if not groups:
        yield nothing(seen, "that the scheduler ended the job")


def _killed(story: Story) -> list[Said]:
    """Return the lines of shells and launchers that say which process was killed meanwhile."""
    return [s for s in story.said if s.hit.fault == "worker_sigkill" and "pid" in s.hit.values]
