"""What this node had: the last of those who say what it should have, and never more than a hint.

Learnt slowly and only upwards: a number counts when it was the same for an hour, and what is lost
is not unlearnt. A part that was taken out for good is forgotten by removing the file and reloading
the agent, or by stating what the node has in the settings, which go before.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from agent.daemon import state
from agent.daemon.changed import KeptChanges
from agent.daemon.maintained import KeptMaintenance
from agent.daemon.runs import KeptRuns
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.pci import function
from collectors.facts.wanted import Wanted
from collectors.gpu.bus import PciGpus
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.changes import PackageChanges
from collectors.host.disks import DiskActivity
from collectors.host.nfs import NfsActivity
from collectors.host.nvme import NvmeDrives
from collectors.jobs.expected import Before, Expected, Stated
from collectors.jobs.job_logs import JobLogs
from collectors.jobs.maintenance import Maintenance
from collectors.network.counters import PortCounters
from collectors.network.ports import Ports
from collectors.node.protocol import Node
from diagnostics.checks.gpu.count import counted as gpus_counted
from diagnostics.checks.network.congestion import CONGESTION
from diagnostics.checks.network.expected import counted as ports_counted
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series.usual import PER_S, REPLAYS, RTT, WAIT, Hours

NAME = "past.json"
SETTLED_S = 3600.0
MOST = 1024
# Counts by their names in `Expected`; what single parts had by the part's name behind these.
COUNTS = ("gpus", "ib_ports", "nvme")
WIDTH, GENERATION, RATE = "pcie_width ", "pcie_generation ", "port_gbps "

T = TypeVar("T", bound=Observation)
Newest = Callable[[type[Observation]], Observation | Missing]


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """The file: numbers by name, of the node that is called `node`."""

    schema: Literal["gpudiag.past/1"] = "gpudiag.past/1"
    node: str | None = None
    numbers: dict[str, float] = {}
    usual: dict[str, tuple[float, ...]] = {}


class KeptPast:
    """The past of this node; made before the loop runs, because it reads a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: state.Writer | None = None
        self._node: str | None = None
        self._settling: dict[str, tuple[float, float]] = {}
        self._damage: str | None = None
        self._past = Past()
        self.runs = KeptRuns(folder)
        self.changes = KeptChanges(folder)
        self.maintenance = KeptMaintenance(folder)
        self.read()

    @property
    def problem(self) -> str | None:
        """Return what is wrong with one of the files, or was when it was read."""
        own = (self._writer.problem if self._writer else None) or self._damage
        return own or self.runs.problem or self.changes.problem

    def read(self) -> None:
        """Read the files anew: without them, all is forgotten."""
        self.runs.read()
        past, self._damage = state.load(self._folder / NAME, Past)
        self._past, self._settling = past or Past(), {}
        own = self._node in (None, self._past.node)
        self._hours = Hours(self._past.usual if own else None)

    def begin(self, node: str, kernel: str | None = None) -> None:
        """Say how this node is called; a disk that was copied from another has another's past."""
        self._node = node
        self.runs.begin(node)
        self.changes.begin(node, kernel)
        self.maintenance.begin(node)
        if self._past.node != node:
            self._hours = Hours()

    def tell(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return the sources, of which those of what is kept read the files of this folder."""
        own = {PackageChanges: self.changes.collect, Maintenance: self.maintenance.collect}
        return tuple(
            msgspec.structs.replace(one, collect=own.get(one.shape, one.collect))
            for one in self.runs.behind(sources)
        )

    @property
    def numbers(self) -> Mapping[str, float]:
        """Return what this node had."""
        return self._past.numbers if self._past.node == self._node else {}

    @property
    def usual(self) -> Mapping[str, tuple[float, ...]]:
        """Return the means of this node's hours, by rate and part."""
        return self._hours.means

    def learn(self, newest: Newest, at: float, wall: float | None = None) -> None:
        """Take what is seen at *at* (monotonic seconds); keep what was so for an hour.

        *wall* is the wall clock's time of it, for what was changed.
        """
        if wall is not None:
            self.changes.learn(newest, wall)
        self.runs.learn(_of(newest, TrainingLogs), _of(newest, JobLogs))
        now = dict(sorted(seen(newest).items())[:MOST])
        kept = dict(self.numbers)
        for name, number in now.items():
            before, since = self._settling.get(name, (None, at))
            since = since if before == number else at
            self._settling[name] = (number, since)
            if at - since >= SETTLED_S and number > kept.get(name, 0.0):
                kept[name] = number
        if self._hours.take(rates(newest), at) or kept != self.numbers:
            numbers = dict(list(kept.items())[-MOST:])
            self._past = Past(node=self._node, numbers=numbers, usual=self._hours.means.copy())
            self._write()

    def _write(self) -> None:
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        self._writer.put(self._past)

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        # Each is closed, whatever became of the others.
        others = self.runs.close(patience_s) & self.changes.close(patience_s)
        others &= self.maintenance.close(patience_s)
        return others and (self._writer is None or self._writer.close(patience_s))

    def behind(self, source: Source) -> Source:
        """Return the source of what is expected, with the past where nobody says anything."""
        return msgspec.structs.replace(source, collect=partial(self._collect, source))

    async def _collect(self, source: Source, node: Node, wanted: Wanted) -> Observation | Missing:
        expected = await source.collect(node, wanted)
        if not isinstance(expected, Expected):
            return expected
        return filled(expected, self.numbers, f"{self._folder / NAME}", self.usual)


def filled(
    expected: Expected,
    numbers: Mapping[str, float],
    source: str,
    usual: Mapping[str, tuple[float, ...]] | None = None,
) -> Expected:
    """Return *expected* with what the node had, where nobody who goes before says a number."""
    if not numbers and not usual:
        return expected
    stated = {
        name: Stated(number=numbers[name], by="past", source=source, text=f"{name} = {number:g}")
        for name in COUNTS
        if (number := numbers.get(name)) and getattr(expected, name) is None
    }
    if expected.product is not None:
        # Only some of the GPUs count then, and all were counted.
        stated.pop("gpus", None)
    before = Before(
        source=source,
        widths={name: int(number) for name, number in _parts(numbers, WIDTH)},
        generations={name: int(number) for name, number in _parts(numbers, GENERATION)},
        rates=dict(_parts(numbers, RATE)),
        usual=dict(usual or {}),
    )
    return msgspec.structs.replace(expected, before=before, **stated)


def _parts(numbers: Mapping[str, float], kind: str) -> Iterator[tuple[str, float]]:
    return ((name[len(kind) :], n) for name, n in numbers.items() if name.startswith(kind))


def rates(newest: Newest) -> dict[str, float]:
    """Return what has no limit that holds for all nodes, as it is now."""
    found: dict[str, float] = {}
    if not isinstance(nfs := _of(newest, NfsActivity), Missing):
        found |= {RTT + one.point: one.rtt_ms for one in nfs.mounts if one.rtt_ms is not None}
    if not isinstance(disks := _of(newest, DiskActivity), Missing):
        found |= {WAIT + one.name: one.wait_ms for one in disks.disks if one.wait_ms is not None}
    if not isinstance(health := _of(newest, GpuHealth), Missing) and health.watched_s > 0:
        for then, now in health.watched():
            if then.pcie.replays is not None and now.pcie.replays is not None:
                more = max(now.pcie.replays - then.pcie.replays, 0)
                found[REPLAYS + now.key] = more / health.watched_s
    return found | _congestion(_of(newest, PortCounters))


def _congestion(seen: PortCounters | Missing) -> dict[str, float]:
    """Return the last rates of what has no limit but a port's siblings and its own past."""
    if isinstance(seen, Missing):
        return {}
    # Hours in which nothing waited say nothing of what is usual while a job runs.
    return {
        f"{row.counter}{PER_S}{port.name}": rates[-1]
        for port in seen.ports
        for row in CONGESTION
        if (rates := port.per_s.get(row.counter)) and rates[-1] > 0
    }


def _of(newest: Newest, shape: type[T]) -> T | Missing:
    got = newest(shape)
    assert isinstance(got, shape | Missing)
    return got


def seen(newest: Newest) -> dict[str, float]:
    """Return the numbers of what is seen now; what is not seen has none."""
    numbers: dict[str, float] = {}
    gpus = gpus_counted(_of(newest, Expected), _of(newest, PciGpus), _of(newest, GpuSnapshot))
    if gpus is not None:
        numbers["gpus"] = gpus
    if not isinstance(health := _of(newest, GpuHealth), Missing):
        for gpu in health.answering():
            at = function(gpu.pci) if gpu.pci else gpu.key
            numbers |= {WIDTH + at: gpu.pcie.width or 0}
            numbers |= {GENERATION + at: gpu.pcie.max_generation or 0}
    if not isinstance(ports := _of(newest, Ports), Missing):
        active = [port for port in ports_counted(ports.ports) if port.active]
        numbers["ib_ports"] = len(active)
        numbers |= {RATE + port.name: port.rate_gbps or 0.0 for port in active}
    if not isinstance(drives := _of(newest, NvmeDrives), Missing):
        numbers["nvme"] = len(drives.drives)
    return {name: float(number) for name, number in numbers.items() if number}
