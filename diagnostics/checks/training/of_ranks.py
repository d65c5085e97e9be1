"""What the checks of running jobs share: how a rank is called, and where it runs."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.pci import function
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.pcie import PciTree
from collectors.jobs.places import RankPlaces
from collectors.jobs.ranks import LocalRanks, Rank, job_of
from collectors.network.ports import Ports
from diagnostics.checks.network.roles import beside
from diagnostics.finding import NotApplicable, Statement, Unseen
from diagnostics.series.waits import Why, why

NONE_HERE = "no rank of a training job runs on this node"
SHOWN = 8


class Devices(msgspec.Struct, frozen=True):
    """GPUs by the N of /dev/nvidiaN, and by the same N the ports beside each."""

    gpus: Mapping[int, GpuReading] = {}
    ports: Mapping[int, tuple[str, ...]] = {}

    def near(self, rank: Rank) -> tuple[str, ...]:
        """Return the ports beside the GPUs of a rank, each once."""
        return tuple(dict.fromkeys(n for minor in rank.gpus for n in self.ports.get(minor, ())))


def devices(
    health: GpuHealth | Missing, ports: Ports | Missing, tree: PciTree | Missing
) -> Devices:
    """Return what ranks can have: GPUs that answer, and the ports whose cards stand beside them."""
    gpus = by_minor(health)
    known = () if isinstance(ports, Missing) else ports.ports
    return Devices(gpus, {n: beside(function(gpu.key), known, tree) for n, gpu in gpus.items()})


def unseen(missing: Missing) -> Statement:
    """Return why nothing is known of jobs here, for the one check that says it.

    An ordinary user may not look at them, which the checks of processes say with the verb that
    they lack; that no log was named leaves his training stage without a subject, as ever.
    """
    return unknown(missing) if missing.cause is Cause.DENIED else Unseen(missing=missing)


def unknown(missing: Missing) -> NotApplicable:
    """Return why there is nothing to judge, for the checks that look on after a suspicion."""
    return NotApplicable(why=f"whose ranks run here cannot be seen ({missing.why()})")


def by_minor(health: GpuHealth | Missing) -> dict[int, GpuReading]:
    """Return the GPUs that answer, by the N of /dev/nvidiaN."""
    if isinstance(health, Missing):
        return {}
    return {gpu.minor: gpu for gpu in health.answering() if gpu.minor is not None}


def numbered(ranks: LocalRanks | Missing, job: str) -> dict[int, Rank]:
    """Return the ranks of a job that are here, by their number."""
    if isinstance(ranks, Missing):
        return {}
    members = ranks.jobs().get(job, ())
    return {rank.rank: rank for rank in members if rank.rank is not None}


def subject(number: int, rank: Rank | None) -> Subject:
    """Return the rank as a subject, with its process where that is here."""
    return Subject(
        kind="rank",
        name=str(number),
        rank=number,
        pid=rank.pid if rank else None,
        job=job_of(rank) if rank else None,
    )


def here(rank: Rank | None, known: Devices) -> str:
    """Return " (pid 5119, GPU 0000:4e:00.0, port mlx5_2/1)", "" for a rank of another node."""
    if rank is None:
        return ""
    gpus = known.gpus
    names = [gpus[minor].key if minor in gpus else f"/dev/nvidia{minor}" for minor in rank.gpus]
    ports = [f"port {name}" for name in known.near(rank)[:SHOWN]]
    return f" ({', '.join([f'pid {rank.pid}', *(f'GPU {name}' for name in names), *ports])})"


def does(rank: Rank | None, places: RankPlaces | Missing) -> Why | None:
    """Return what a rank of this node does, None for one of another."""
    if rank is None:
        return None
    return why(rank, None if isinstance(places, Missing) else places.of(rank.pid))


def clause(what: Why | None) -> str:
    """Return "; it sleeps ...", "" where nothing is known."""
    return f"; {what.words}" if what is not None and what.words else ""


def listed(ranks: Iterable[int]) -> str:
    """Return "rank 3" or "ranks 0, 1, 2"; of many, the first."""
    some = list(ranks)
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return f"rank{'' if len(some) == 1 else 's'} {', '.join(map(str, some[:SHOWN]))}{more}"


def values(rank: Rank | None, known: Devices) -> dict[str, Any]:
    """Return rank, process, GPUs and the ports beside them as evidence holds them."""
    if rank is None:
        return {}
    pci = [known.gpus[minor].key for minor in rank.gpus if minor in known.gpus]
    own = {"pid": rank.pid, "state": rank.state, "gpus": list(rank.gpus), "pci": pci}
    return own | {"ports": list(known.near(rank))}
