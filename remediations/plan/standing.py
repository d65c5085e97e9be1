"""How a node stands with those who use it, from what a walk saw: jobs, scheduler, duties, holders.

None is "not known" wherever it stands.
"""

from collections.abc import Iterable, Mapping

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.owner import HeldDevices
from collectors.facts.processes import Process, ProcessTable
from collectors.jobs.lost_steps import LostSteps
from collectors.jobs.maintenance import Maintenance
from collectors.jobs.node_reason import NodeReason
from collectors.jobs.running import JobsOnNode
from collectors.network.gids import Gids
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Ports
from remediations.duty import duty
from remediations.plan.actions import Holder, SlurmNode
from remediations.remedies.job_lines import Compute, compute

Seen = Mapping[type[Observation], Observation | Missing]

# Until its tasks are there a step has no process: images are pulled, prologs run.
LEAST_RAN_S = 300.0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What a situation takes over from the walk."""

    booted_s_ago: float | None = None
    jobs: tuple[str, ...] | None = None
    slurm: SlurmNode | None = None
    holders: tuple[Holder, ...] | None = None
    duties: tuple[str, ...] | None = None
    maintenance: str | None = None
    network: Compute | None = None
    lost_jobs: tuple[str, ...] = ()


def standing(seen: Seen) -> Standing:
    """Return how the node stands."""
    table = seen.get(ProcessTable)
    processes = table if isinstance(table, ProcessTable) else None
    return Standing(
        booted_s_ago=processes.uptime_s if processes else None,
        jobs=_jobs(seen.get(JobsOnNode)),
        slurm=_slurm(seen.get(NodeReason)),
        holders=_holders(seen.get(HeldDevices)),
        duties=duties(processes.processes) if processes else None,
        maintenance=_maintenance(seen.get(Maintenance)),
        network=_network(seen),
        lost_jobs=_lost(seen.get(LostSteps)),
    )


def duties(processes: Iterable[Process]) -> tuple[str, ...]:
    """Return what these processes do for others."""
    told = {duty(one.comm, kernel=one.kernel) for one in processes}
    return tuple(sorted(told - {""}))


def _jobs(seen: Observation | Missing | None) -> tuple[str, ...] | None:
    if not isinstance(seen, JobsOnNode) or seen.unknown("slurm") is not None:
        return None
    # Containers are no jobs: those of the cluster itself run on every node. Who computes in one
    # has a GPU open.
    slurm = seen.said("slurm")
    return slurm.running if slurm else ()


def _maintenance(seen: Observation | Missing | None) -> str | None:
    """Return who works on the node and why; what is not known of it its own check says."""
    if not isinstance(seen, Maintenance) or seen.by is None:
        return None
    return f"by {seen.by}" + (f", {seen.reason}" if seen.reason else "")


def _lost(seen: Observation | Missing | None) -> tuple[str, ...]:
    """Return the jobs that lost a step here which ran long enough, and may be requeued."""
    steps = seen.steps if isinstance(seen, LostSteps) else ()
    dead = (one.job for one in steps if one.requeue and one.ran_s >= LEAST_RAN_S)
    return tuple(dict.fromkeys(dead))


def _network(seen: Seen) -> Compute | None:
    interfaces, ports, gids = (seen.get(shape) for shape in (Interfaces, Ports, Gids))
    found = compute(
        interfaces if isinstance(interfaces, Interfaces) else None,
        ports if isinstance(ports, Ports) else None,
        gids if isinstance(gids, Gids) else None,
    )
    return None if found == Compute() else found


def _slurm(seen: Observation | Missing | None) -> SlurmNode | None:
    if not isinstance(seen, NodeReason) or seen.name is None:
        return None
    return SlurmNode(
        name=seen.name, states=frozenset(seen.states), reason=seen.reason, owner=seen.by
    )


def _holders(seen: Observation | Missing | None) -> tuple[Holder, ...] | None:
    # One that could not be looked at may be the one that holds the GPU.
    if not isinstance(seen, HeldDevices) or seen.unseen:
        return None
    return tuple(
        Holder(
            pid=one.pid,
            start_ticks=one.start_ticks,
            uid=one.uid,
            comm=one.comm,
            cgroup=one.cgroup,
            devices=one.devices,
        )
        for one in seen.holders
    )
