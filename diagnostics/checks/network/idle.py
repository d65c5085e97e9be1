"""Whether a node is free for a test that fills its ports."""

from collectors.facts.observation import Missing
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode

# Below this are the users of services: persistence daemon, fabric manager, exporters.
FIRST_USER = 1000


def busy(jobs: JobsOnNode | Missing, holders: GpuHolders | Missing) -> str | None:
    """Return why a test must not run now, None on a node without a job.

    What cannot be seen may be a job.
    """
    if isinstance(jobs, Missing):
        return f"whether a job runs here could not be seen: {jobs.why()}"
    if isinstance(holders, Missing):
        return f"who uses the GPUs could not be seen: {holders.why()}"
    if jobs.silent:
        silent = jobs.silent[0]
        return f"{silent.what} did not say what runs here: {silent.why()}"
    slurm = jobs.said("slurm")
    if slurm is not None and slurm.running:
        return f"job {slurm.running[0]} runs here"
    return next((why for one in holders.holders if (why := _user(one))), None)


def _user(one: Holder) -> str | None:
    """Return what is told of a holder that is a job's, or a person's, and no service's."""
    if not one.minors:
        return None
    who = f"process {one.pid} ({one.comm}) uses a GPU"
    if one.job:
        return f"{who} for job {one.job}"
    if one.owner.container or one.owner.pod:
        return f"{who} in a container"
    return who if one.uid is not None and one.uid >= FIRST_USER else None
