"""How each rank's collectives are set up: its environment, and the files that NCCL reads."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.ranks import LocalRanks, Rank, job_of
from collectors.node.protocol import Node

ENVIRONMENT = "environment"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One value, and where it stands: `environment`, `/etc/nccl.conf`, `~/.nccl.conf` ..."""

    value: str
    source: str = ENVIRONMENT


class RankSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank was started with; `host_network` is None where that was not seen.

    A program can change its own environment later, which nobody outside sees.
    """

    pid: int
    job: str
    rank: int | None = None
    world: int | None = None
    host_network: bool | None = None
    settings: Mapping[str, Setting] = {}

    def values(self) -> dict[str, str]:
        """Return the settings without where they stand."""
        return {name: one.value for name, one in self.settings.items()}


class NcclSettings(Observation, frozen=True, kw_only=True):
    """The ranks of this node; `unread` says which files of settings could not be seen, and why."""

    ranks: tuple[RankSettings, ...] = ()
    unread: Missing | None = None

    def jobs(self) -> dict[str, tuple[RankSettings, ...]]:
        """Return the ranks by job."""
        found: dict[str, list[RankSettings]] = {}
        for rank in self.ranks:
            found.setdefault(rank.job, []).append(rank)
        return {name: tuple(ranks) for name, ranks in found.items()}


class ConfFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of NCCL's as the reader tells of it."""

    path: str
    settings: Mapping[str, str] = {}
    refused: str | None = None


class Conf(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader says of one rank."""

    host_network: bool
    files: tuple[ConfFile, ...] = ()


async def collect(
    node: Node, wanted: Wanted, ranks: LocalRanks | Missing
) -> NcclSettings | Missing:
    """Ask for the files of the ranks that run here; their environment is known."""
    del wanted
    if isinstance(ranks, Missing):
        return ranks
    if not ranks.ranks:
        return NcclSettings()
    pids = [rank.pid for rank in ranks.ranks]
    confs = _confs(await node.ask("nccl_conf", deadline_s=3.0, pids=pids))
    known = {} if isinstance(confs, Missing) else confs
    return NcclSettings(
        ranks=tuple(joined(rank, known.get(rank.pid)) for rank in ranks.ranks),
        unread=confs if isinstance(confs, Missing) else _refused(confs.values()),
    )


def _confs(answer: Any) -> dict[int, Conf] | Missing:  # noqa: ANN401 - JSON of a helper
    if isinstance(answer, Missing):
        return answer
    try:
        return msgspec.convert(answer, dict[int, Conf], strict=False)
    except msgspec.ValidationError as problem:
        return Missing(what="nccl_conf", cause=Cause.GARBLED, detail=str(problem)[:200])


def joined(rank: Rank, conf: Conf | None) -> RankSettings:
    """Return the settings as NCCL ends up with them: what is set first stays."""
    found = {name: Setting(value=value) for name, value in rank.environ.items()}
    for file in conf.files if conf else ():
        for name, value in file.settings.items():
            found.setdefault(name, Setting(value=value, source=file.path))
    return RankSettings(
        pid=rank.pid,
        job=job_of(rank),
        rank=rank.rank,
        world=rank.world,
        host_network=conf.host_network if conf else None,
        settings=found,
    )


def _refused(confs: Iterable[Conf]) -> Missing | None:
    files = (file for conf in confs for file in conf.files)
    first = next((file for file in files if file.refused), None)
    if first is None:
        return None
    return Missing(what=first.path, cause=Cause.DENIED, detail=f"{first.path}: {first.refused}")
