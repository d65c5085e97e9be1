"""Reading and searching the kernel log on: always what reading it whole would show."""

import asyncio
import time
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.kernel import Searching
from agent.daemon.kernel import following as going_on
from agent.walk import kernel, sources
from collectors.facts.answers import Files
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.kernel import log as whole_log
from collectors.kernel.following import PIECE, Following
from collectors.node.protocol import Identity
from diagnostics.rules.kernel import KernelSymptoms
from tests.agent.daemon.virtual import Still

LINES = (
    "nvidia 0000:4e:00.0: enabling device (0000 -> 0002)",
    "NVRM: Xid (PCI:0000:4e:00): 79, pid=5123, name=python, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:9b:00): 31, pid=5124, name=python, Ch 0000000a, intr 00000000.",
    "NVRM: The NVIDIA GPU 0000:b3:00.0",
    "NVRM: (PCI ID: 10de:2330) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.",
    "NVRM: GPU at PCI:0000:4e:00: GPU-7d3c1a90-0b1e-4c55-8f21-6a0c9d5e4b12",
    "NVRM: GPU Board Serial Number: 1650423900871",
    "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2: comm ls: reading directory",
)


class Talking(Still):
    """A node whose kernel has said `lines` so far, of which the first `gone` are overwritten."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gone = 0
        self.asked: list[dict[str, int]] = []
        self.sent = 0
        self.boot = "b00t"
        self.source = "kmsg"
        self.uptime = 100.0

    async def identity(self) -> Identity:
        return Identity(node="gpu-017", boot_id=self.boot, kernel=None)

    async def files(self, *patterns: str, **_: Any) -> Files | Missing:
        del patterns
        texts = {"/proc/uptime": f"{self.uptime:.2f} 1.00\n", "/proc/stat": "btime 1796000000\n"}
        return Files(texts=texts, errors={})

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del kind, deadline_s
        self.asked.append(args)
        after, most = args.get("after", -1), args.get("most", 20_000)
        there = [n for n in range(self.gone, len(self.lines)) if n > after]
        lost = max(self.gone - after - 1, 0) if after >= 0 else 0
        some = there[:most]
        self.sent += len(some)
        lines = [f"3,{n},{1_000_000 + n * 10},-;{self.lines[n]}" for n in some]
        last = some[-1] if some else after
        return {"lines": lines, "lost": lost, "source": self.source, "last": last}


async def seen(following: Following, searching: Searching, node: Talking) -> KernelSymptoms:
    """Look once, as the daemon does every 10 s."""
    told = await following.collect(node, Wanted())
    found = await searching.collect(node, Wanted(), told)
    assert isinstance(found, KernelSymptoms)
    return found


@given(st.lists(st.lists(st.sampled_from(LINES), max_size=6), min_size=1, max_size=5))
def test_going_on_is_as_good_as_beginning_anew(said: list[list[str]]) -> None:
    """However the lines fall to readings, log and symptoms are those of the whole.

    A sentence in three records, of which the last are still to come, waits for them.
    """

    async def main() -> tuple[object, object]:
        node, following, searching = Talking(), Following(), Searching()
        for more in said:
            node.lines += more
            node.uptime += 10.0
            await seen(following, searching, node)
        # A line of no meaning ends the sentence that a last line may have begun.
        node.lines.append("usb 1-1: new high-speed USB device number 2 using xhci_hcd")
        found = await seen(following, searching, node)
        fresh = await whole_log.collect(node, Wanted())
        assert isinstance(fresh, KernelLog)
        assert fresh == await following.collect(node, Wanted())
        return await kernel.collect(node, Wanted(), fresh), found

    whole, found = asyncio.run(main())

    assert whole == found


async def test_what_was_read_is_not_asked_for_again() -> None:
    """5,000 records come in pieces and once; from then on only the new one of each reading."""
    node, following = Talking(), Following()
    node.lines = [LINES[0]] * 5_000
    await following.collect(node, Wanted())
    pieces, first = len(node.asked), node.sent
    for _ in range(3):
        node.lines.append(LINES[1])
        log = await following.collect(node, Wanted())
    assert isinstance(log, KernelLog)

    assert (3, 5_000, 3, {"after": 5_001, "most": PIECE}, 5_003) == (
        pieces,
        first,
        node.sent - first,
        node.asked[-1],
        len(log.records),
    )


async def test_what_was_overwritten_between_two_readings_is_counted() -> None:
    """R15: 100,000 lines in between: all that no search saw is counted, and the next Xid is seen.

    The ring holds 30,000 of them, and 20,000 are kept. It takes less than 2 s of this processor.
    """
    node, following, searching = Talking(), Following(), Searching()
    node.lines = [LINES[0]] * 10
    await seen(following, searching, node)
    node.lines += [LINES[2]] * 100_000
    node.gone = len(node.lines) - 30_000
    node.lines.append(LINES[1])
    began = time.process_time()
    found = await seen(following, searching, node)
    took = time.process_time() - began

    assert (80_001, {("xid_31", 19_999), ("gpu_fell_off_bus", 1)}, True) == (
        found.lost,
        {(hit.fault, hit.count) for hit in found.hits},
        took < 2.0,
    )


async def test_another_boot_or_source_begins_anew() -> None:
    """What was said in another boot, or numbered by another source, is neither kept nor mixed."""
    node, following, searching = Talking(), Following(), Searching()
    node.lines = [LINES[1]]
    first = await seen(following, searching, node)
    node.boot, node.lines = "b11t", [LINES[2]]
    second = await seen(following, searching, node)
    node.source, node.lines = "journald", [LINES[8]]
    third = await seen(following, searching, node)

    assert (["gpu_fell_off_bus"], ["xid_31"], ["journald", 1]) == (
        [hit.fault for hit in first.hits],
        [hit.fault for hit in second.hits],
        [third.source, third.records],
    )


async def test_a_reading_that_fails_is_missing_and_costs_nothing() -> None:
    """While the reader does not answer the log is Missing; then it goes on where it was."""
    node, following = Talking(), Following()
    node.lines = [LINES[1]]
    await following.collect(node, Wanted())
    silent = await following.collect(Still(), Wanted())
    node.lines.append(LINES[0])
    log = await following.collect(node, Wanted())

    assert isinstance(silent, Missing)
    assert isinstance(log, KernelLog)
    assert (2, 2) == (len(log.records), node.sent)


def test_only_the_kernel_s_sources_are_replaced() -> None:
    """Everything else of the walk is looked at as by `run`."""
    replaced = going_on(sources.SOURCES)
    changed = [
        new.shape.__name__
        for old, new in zip(sources.SOURCES, replaced, strict=True)
        if old.collect != new.collect
    ]
    same = [msgspec.structs.replace(new, collect=None) for new in replaced]

    assert (
        ["KernelLog", "KernelSymptoms"],
        [msgspec.structs.replace(old, collect=None) for old in sources.SOURCES],
    ) == (changed, same)
