"""What the network's tiers cost for 64 ports: `python -m bench.network`.

Ports are a copied tree, so that a read costs what the kernel's files and our own work cost, and
nothing of what a card's firmware would take. That is why reads, requests and processes for each
port and second are printed and bounded beside the time: a card pays for each of them.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from collectors.catalog import by_shape
from collectors.facts.answers import Files, Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.helpers.children import links
from collectors.helpers.children.netlink import DUMP_S
from collectors.network import devlink, fec, fec_errors, gids, optics
from collectors.network.counters import FOLDERS, Counting, PortCounters
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.links import collect as look_at_links
from collectors.network.ports import Port, Ports
from collectors.network.statistics import EthernetStatistics
from collectors.node.live import Live

PORTS = 64
CLASS = "sys/class/infiniband"
STATE = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}
MOST_CORE, MOST_READS = 1.0, 4.0
# Once a minute for all interfaces together, and one process for each card.
MOST_REQUESTS, MOST_PROCESSES = 1 / 60, 1 / 60
# The ten minutes' tier: module, correction, and what that could not mend by card; devlink for all.
MOST_SLOW_PROCESSES = 3 / 600
MOST_FOR_ALL = 2
# 40 places of a GID table, each with its address, its kind and its interface.
MOST_SLOW_READS = 3 * gids.MOST
TICKS_S = os.sysconf("SC_CLK_TCK")


class Tier(NamedTuple):
    """One tier: how often it is looked at, and what a look costs."""

    name: str
    period_s: float
    cpu_s: float
    reads: float
    processes: float = 0.0

    @property
    def core_percent(self) -> float:
        """Return the share of a core."""
        return self.cpu_s / self.period_s * 100


def tree(root: Path, count: int) -> None:
    """Write the ports."""
    for number in range(count):
        port = root / CLASS / f"mlx5_{number}" / "ports" / "1"
        for name, text in STATE.items():
            put(port / name, text)
        for name, folder in FOLDERS.items():
            put(port / folder / name, "184220931774012" if name.endswith("_data") else "0")
        for place in range(gids.MOST):
            address = f"fe80:0000:0000:0000:506b:4b03:00a1:{place + 1:04x}"
            put(port / "gids" / str(place), address)
            put(port / "gid_attrs" / "types" / str(place), "RoCE v2")
            put(port / "gid_attrs" / "ndevs" / str(place), f"rail{number}")


def put(path: Path, text: str) -> None:
    """Write one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def used(pids: list[int]) -> float:
    """Return the processor seconds of these processes and this one."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    # What tools took that were started and have ended counts too.
    ended = os.times()
    tools = ended.children_user + ended.children_system
    return time.process_time() + ticks / TICKS_S + tools


async def cost(node: Live, look: Callable[[], Awaitable[object]], looks: int) -> float:
    """Return the processor seconds of one look, the helpers' among them."""
    await look()
    before = used(node.pids())
    for _ in range(looks):
        if isinstance(seen := await look(), Missing):
            sys.exit(f"bench: {seen.what}: {seen.why()}")
    return (used(node.pids()) - before) / looks


class Moved(Live):
    """This machine, but that /sys lies below a folder: paths are read as they are on a node.

    With `--root` each part of a path is looked at for links, which costs twenty times as much.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Read below the folder, and tell paths without it."""
        moved = (self._folder + pattern for pattern in patterns)
        seen = await super().files(*moved, names=names, cap=cap, deadline_s=deadline_s)
        if isinstance(seen, Missing):
            return seen
        return Files(texts={path[len(self._folder) :]: text for path, text in seen.texts.items()})


async def asked(node: Live) -> Output | None:
    """Ask for the statistics of an interface that has none: what a process costs."""
    got = await node.command("ethtool", "-S", "lo", deadline_s=4.0)
    return None if isinstance(got, Missing) else got


async def measure(root: str, count: int, looks: int) -> list[Tier]:
    """Measure every tier."""
    wanted = Wanted(sample_s=0.0)
    node, moved = Live(root=root), Moved(root)
    counting = Counting()
    periods = {shape: source.period_s for shape, source in by_shape().items()}
    try:
        by_links = await cost(node, lambda: look_at_links(node, wanted), looks)
        by_counters = await cost(moved, lambda: counting.collect(moved, wanted), max(looks // 2, 5))
        local = Live()
        by_tool = await cost(local, lambda: asked(local), 20)
        by_gids = await cost(moved, lambda: gids.collect(moved, wanted), 5)
        table = await moved.files(*gids.PATTERNS, cap=256)
        places = 0 if isinstance(table, Missing) else len(table.texts)
        started = await asked_slowly(count)
        await local.close()
    finally:
        await node.close()
        await moved.close()
    watch = links.Watch(root)
    watch.look()
    before = watch.reads
    watch.look()
    reads = (watch.reads - before) / count
    return [
        # As if each look of the helper were an answer, too.
        Tier("links", links.LOOK_S, by_links, reads),
        Tier("counters", periods[PortCounters], by_counters, float(len(FOLDERS))),
        Tier("ethtool -S", periods[EthernetStatistics], by_tool * count, 0.0, 1.0),
        # Each as dear as the one that was measured: what a card's firmware takes nobody sees here.
        Tier(
            "ten minutes",
            slow(periods),
            by_gids + by_tool * started,
            places / count,
            (started - MOST_FOR_ALL) / count,
        ),
    ]


class Counted(Live):
    """A node of many fast cards that answers at once, and counts what would be a process."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.asked = 0
        self.cards = [f"rail{number}" for number in range(count)]

    async def files(self, *_: str, **__: object) -> Files | Missing:
        """Return what tells a card with a carrier from others."""
        said = {"type": "1", "carrier": "1", "device": ""}
        return Files(
            texts={
                f"/sys/class/net/{card}/{name}": text
                for card in self.cards
                for name, text in said.items()
            }
        )

    async def command(self, tool: str, /, *args: str, deadline_s: float) -> Output | Missing:
        """Count, and answer as ethtool and devlink do."""
        del deadline_s
        self.asked += 1
        told = '[{"statistics":{"uncorrectable_blocks":{"total":0}}}]'
        return Output(argv=(tool, *args), status=0, stdout=told if "-I" in args else "{}")

    async def ask(self, kind: str, /, **args: Any) -> Any:  # noqa: ANN401 - JSON of a helper
        """Count: the reader starts ethtool for a module."""
        del kind, args
        self.asked += 1
        return {"status": 0, "stdout": "", "stderr": "", "seconds": 0.0}


async def asked_slowly(count: int) -> int:
    """Return how many processes one look of the slowest tier starts, as the agent has it."""
    node, wanted, log = Counted(count), Wanted(sample_s=0.0), KernelLog(records=())
    nics = Interfaces(
        interfaces=tuple(
            Interface(name=card, speed_mbps=400_000, up=True, running=True, mtu=9000, physical=True)
            for card in node.cards
        )
    )
    ports = Ports(ports=(Port(device="mlx5_0", port=1),))
    modules, correction = optics.Looking(), fec.Looking()
    blocks, adapters = fec_errors.Sampling(), devlink.Looking()
    try:
        # The very first look reads rising numbers twice.
        await blocks.collect(node, wanted, nics, log)
        node.asked = 0
        seen = (
            await modules.collect(node, wanted, log),
            await correction.collect(node, wanted, nics, log),
            await blocks.collect(node, wanted, nics, log),
            await adapters.collect(node, wanted, ports, log),
        )
    finally:
        await node.close()
    for one in seen:
        if isinstance(one, Missing) and one.cause is not Cause.GARBLED:
            sys.exit(f"bench: {one.what}: {one.why()}")
    return node.asked


def slow(periods: Mapping[type[Observation], float]) -> float:
    """Return the period that all of the slowest tier have; one that is quicker would cost more."""
    shapes = (optics.Optics, fec.Fec, fec_errors.FecErrors, devlink.AdapterHealth, gids.Gids)
    return min(periods[shape] for shape in shapes)


def marked(value: float, most: float) -> str:
    """Return a number with its bound."""
    return f"{value:.3f} {'OVER' if value > most else 'of'} {most:.3g}"


def main() -> None:
    """Measure, print, and end with 1 where something is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ports", type=int, default=PORTS, help=f"ports ({PORTS})")
    parser.add_argument("--looks", type=int, default=200, help="looks of the first tier (200)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree(Path(name), given.ports)
        tiers = asyncio.run(measure(name, given.ports, given.looks))
    print(f"{given.ports} ports of a copied tree\n")
    head = f"{'tier':<12}{'each':>8}{'ms a look':>12}{'% core':>10}{'reads/port/s':>16}"
    print(f"{head}{'processes/port/s':>20}")
    for tier in tiers:
        each, reads = f"{tier.period_s:g} s", tier.reads / tier.period_s
        row = f"{tier.name:<12}{each:>8}{tier.cpu_s * 1000:>12.2f}"
        started = tier.processes / tier.period_s
        print(f"{row}{tier.core_percent:>10.3f}{reads:>16.2f}{started:>20.4f}")
    core = sum(tier.core_percent for tier in tiers)
    quick, slowest = tiers[2], tiers[3]
    bounds = {
        "% of a core": (core, MOST_CORE),
        "reads of the first tier, port and look": (tiers[0].reads, MOST_READS),
        "netlink requests a second, all ports": (1 / DUMP_S, MOST_REQUESTS),
        "processes, Ethernet port and second": (
            quick.processes / quick.period_s,
            MOST_PROCESSES,
        ),
        "the same, ten minutes' tier": (
            slowest.processes / slowest.period_s,
            MOST_SLOW_PROCESSES,
        ),
        "reads of the ten minutes' tier, port, look": (slowest.reads, MOST_SLOW_READS),
    }
    print()
    for what, (value, most) in bounds.items():
        print(f"{what:<42}{marked(value, most)}")
    if any(value > most for value, most in bounds.values()):
        sys.exit("bench: over a bound")


if __name__ == "__main__":
    main()
