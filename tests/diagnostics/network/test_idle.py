"""Whether a node is free for a test that fills its ports."""

from typing import Any

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.facts.owner import Owner
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode, Source
from diagnostics.checks.network.idle import busy

DENIED = Missing(what="slurm", cause=Cause.DENIED, detail="only root sees this")
NO_JOBS = JobsOnNode(sources=(Source(name="slurm"),))


def holders(**of: Any) -> GpuHolders:
    """Return one holder of a GPU."""
    holder = Holder(**{"pid": 4120, "comm": "python", "start_s": 9.0, "minors": (0,), **of})
    return GpuHolders(devices=8, holders=(holder,))


@pytest.mark.parametrize(
    ("jobs", "held", "why"),
    [
        (NO_JOBS, GpuHolders(devices=8), None),
        (NO_JOBS, holders(uid=0, comm="nvidia-persiste"), None),
        (NO_JOBS, holders(uid=4711, minors=()), None),
        (
            JobsOnNode(sources=(Source(name="slurm", running=("88123",)),)),
            GpuHolders(devices=8),
            "job 88123 runs here",
        ),
        (NO_JOBS, holders(job="88123", uid=0), "process 4120 (python) uses a GPU for job 88123"),
        (NO_JOBS, holders(uid=4711), "process 4120 (python) uses a GPU"),
        (
            NO_JOBS,
            holders(uid=0, owner=Owner(kind="docker", container="4f" * 32)),
            "process 4120 (python) uses a GPU in a container",
        ),
        (
            JobsOnNode(silent=(DENIED,)),
            GpuHolders(devices=8),
            "slurm did not say what runs here: not allowed: only root sees this",
        ),
        (
            DENIED,
            GpuHolders(devices=8),
            "whether a job runs here could not be seen: not allowed: only root sees this",
        ),
        (
            NO_JOBS,
            DENIED,
            "who uses the GPUs could not be seen: not allowed: only root sees this",
        ),
    ],
)
def test_busy(jobs: JobsOnNode | Missing, held: GpuHolders | Missing, why: str | None) -> None:
    """A job, a person's or a container's process is in the way; so is what cannot be seen."""
    assert why == busy(jobs, held)
