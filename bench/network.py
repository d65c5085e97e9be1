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
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.catalog import by_shape
from collectors.facts.answers import Files, Output
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.children import links
from collectors.helpers.children.netlink import DUMP_S
from collectors.network.counters import FOLDERS, Counting, PortCounters
from collectors.network.links import collect as look_at_links
from collectors.network.statistics import EthernetStatistics
from collectors.node.live import Live

PORTS = 64
CLASS = "sys/class/infiniband"
STATE = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}
MOST_CORE, MOST_READS = 1.0, 4.0
# Once a minute for all interfaces together, and one process for each card.
MOST_REQUESTS, MOST_PROCESSES = 1 / 60, 1 / 60
TICKS_S = os.sysconf("SC_CLK_TCK")


class Tier(NamedTuple):
    """One tier: how often it is looked at, and what a look costs."""

    name: str
    period_s: float
    cpu_s: float
    reads: float

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
    """Measure both tiers that read files."""
    wanted = Wanted(sample_s=0.0)
    node, moved = Live(root=root), Moved(root)
    counting = Counting()
    periods = {shape: source.period_s for shape, source in by_shape().items()}
    try:
        by_links = await cost(node, lambda: look_at_links(node, wanted), looks)
        by_counters = await cost(moved, lambda: counting.collect(moved, wanted), max(looks // 2, 5))
        local = Live()
        by_tool = await cost(local, lambda: asked(local), 20)
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
        Tier("ethtool -S", periods[EthernetStatistics], by_tool * count, 0.0),
    ]


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
    print(f"{'tier':<12}{'each':>8}{'ms a look':>12}{'% core':>10}{'reads/port/s':>16}")
    for tier in tiers:
        each, reads = f"{tier.period_s:g} s", tier.reads / tier.period_s
        row = f"{tier.name:<12}{each:>8}{tier.cpu_s * 1000:>12.2f}"
        print(f"{row}{tier.core_percent:>10.3f}{reads:>16.2f}")
    core = sum(tier.core_percent for tier in tiers)
    processes = 1 / by_shape()[EthernetStatistics].period_s
    bounds = {
        "% of a core": (core, MOST_CORE),
        "reads of the first tier, port and look": (tiers[0].reads, MOST_READS),
        "netlink requests a second, all ports": (1 / DUMP_S, MOST_REQUESTS),
        "processes, Ethernet port and second": (processes, MOST_PROCESSES),
    }
    print()
    for what, (value, most) in bounds.items():
        print(f"{what:<42}{marked(value, most)}")
    if any(value > most for value, most in bounds.values()):
        sys.exit("bench: over a bound")


if __name__ == "__main__":
    main()
