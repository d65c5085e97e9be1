"""Whether a node is free for a test that fills its ports."""

from collectors.facts.observation import Missing
from collectors.host.holders import GpuHolders
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
    running = {source.name: source.running for source in jobs.sources if source.running}
    if slurm := running.get("slurm"):
        return f"job {slurm[0]} runs here"
    for one in holders.holders:
        if one.minors and (one.job or (one.uid is not None and one.uid >= FIRST_USER)):
            return f"process {one.pid} ({one.comm}) uses a GPU" + (
                f" for job {one.job}" if one.job else ""
            )
        if one.minors and (one.owner.container or one.owner.pod):
            return f"process {one.pid} ({one.comm}) uses a GPU in a container"
    return None
