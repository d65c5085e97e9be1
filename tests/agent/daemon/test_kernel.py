"""Reading and searching the kernel log on: always what reading it whole would show."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.keeping import Keeping
from agent.daemon.kernel import Listening, Searching, behind
from agent.walk import kernel, sources
from collectors.facts.answers import Files
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel import log as whole_log
from collectors.kernel.following import PIECE, Cursor, Following
from collectors.node.protocol import Identity
from diagnostics.rules.kernel import KernelSymptoms
from tests.agent.daemon.virtual import Still, for_a_while, virtually

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
        self.clock_s: float | None = None
        self.read: list[tuple[str, ...]] = []

    async def waits(self, after: int, wait_s: int) -> None:
        """Wait for a line, as the reader does."""
        for _ in range(wait_s * 10):
            if len(self.lines) > after + 1:
                return
            await asyncio.sleep(0.1)

    def monotonic(self) -> float:
        return super().monotonic() if self.clock_s is None else self.clock_s

    async def identity(self) -> Identity:
        await asyncio.sleep(0)
        return Identity(node="gpu-017", boot_id=self.boot, kernel=None)

    async def files(self, *patterns: str, **_: Any) -> Files | Missing:
        self.read.append(patterns)
        texts = {"/proc/uptime": f"{self.uptime:.2f} 1.00\n", "/proc/stat": "btime 1796000000\n"}
        return Files(texts=texts, errors={})

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del deadline_s
        assert kind == "kernel_log"
        self.asked.append(args)
        after, most = args.get("after", -1), args.get("most", 20_000)
        await self.waits(after, args.get("wait_s", 0))
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
            node.clock_s = node.uptime
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


async def test_the_time_of_boot_is_read_now_and_then() -> None:
    """In ten minutes once, and again in another boot; how long the node is up goes on meanwhile."""
    node, following, ups = Talking(), Following(), []
    for _ in range(70):
        node.uptime += 10.0
        node.clock_s = node.uptime
        log = await following.collect(node, Wanted())
        assert isinstance(log, KernelLog)
        ups.append(log.uptime_s == node.uptime)
    often = sum("/proc/stat" in patterns for patterns in node.read)
    node.boot, node.uptime = "another", 3.0
    log = await following.collect(node, Wanted())
    assert isinstance(log, KernelLog)

    assert (True, 2, 3.0) == (all(ups), often, log.uptime_s)


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


def test_what_the_kernel_says_rings_within_a_second() -> None:
    """R15: a symptom rings 0.6 s after its line at the latest, and again only where it is another.

    A line of no meaning, the same symptom on the same GPU, and what was there at the start do not;
    100,000 lines at once are searched once.
    """
    rang: list[float] = []

    async def main() -> tuple[float, int]:
        node, following, searching = Talking(), Following(), Searching()
        node.lines = [LINES[2]]
        told: dict[type, Any] = {}

        async def look(shape: type, within_s: float) -> Any:
            del within_s
            if shape is KernelLog:
                told[KernelLog] = await following.collect(node, Wanted())
            else:
                told[shape] = await searching.collect(node, Wanted(), told[KernelLog])
            return told[shape]

        listening = Listening(node, look, following.listen, lambda: rang.append(node.monotonic()))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(for_a_while(listening.run(), 300.0))
            await asyncio.sleep(70.0)
            node.lines += [LINES[0], LINES[2]]
            await asyncio.sleep(10.0)
            lost_at = node.monotonic()
            node.lines.append(LINES[1])
            await asyncio.sleep(10.0)
            asked = len(node.asked)
            node.lines += [LINES[1]] * 40_000
            await task
        return lost_at, sum("wait_s" not in question for question in node.asked[asked:])

    lost_at, flood = virtually(main)

    assert (1, True, True) == (len(rang), rang[0] - lost_at <= 0.6, flood <= 22)


def test_where_nobody_tells_the_log_is_left_to_its_period() -> None:
    """Of a journal nobody is asked to wait: that is looked at once a minute; nothing rings."""
    rang: list[int] = []
    node, looked = Talking(), []

    async def main() -> None:
        following = Following()
        node.source, node.lines = "journald", [LINES[1]]
        await following.collect(node, Wanted())

        async def look(shape: type, within_s: float) -> Any:
            looked.append((shape, within_s))
            return Missing(what=shape.__name__, cause=Cause.DENIED, detail="no reader is running")

        listening = Listening(node, look, following.listen, lambda: rang.append(1))
        await for_a_while(listening.run(), 150.0)

    virtually(main)

    assert (1, [(KernelLog, 0.0), (KernelSymptoms, 0.0)], []) == (len(node.asked), looked, rang)


def test_while_somebody_listens_nobody_asks() -> None:
    """In ten minutes each look shows what was said until then, with its age, and costs no question.

    One question in 30 s waits; a line costs two: the one that told it, and one for what follows.
    """

    async def main() -> tuple[list[tuple[int, float]], list[int]]:
        node, following = Talking(), Following()
        node.lines = [LINES[0]]
        shown, asked = [], []
        await following.collect(node, Wanted())

        async def listen() -> None:
            while True:
                if await following.listen(node) is True:
                    await following.collect(node, Wanted())

        async with asyncio.TaskGroup() as group:
            task = group.create_task(for_a_while(listen(), 600.0))
            for _ in range(10):
                asked.append(len(node.asked))
                await asyncio.sleep(59.0)
                node.lines.append(LINES[1])
                await asyncio.sleep(0.2)
                before = len(node.asked)
                log = await following.collect(node, Wanted())
                assert isinstance(log, KernelLog)
                assert len(node.asked) == before
                shown.append((len(log.records), round(log.uptime_s or 0.0, 1)))
            await task
        return shown, asked

    shown, asked = virtually(main)

    assert (
        [(n + 2, round(100.0 + 59.2 * (n + 1), 1)) for n in range(10)],
        True,
    ) == (shown, asked[-1] <= 9 * 4 + 1)


@given(st.lists(st.tuples(st.sampled_from(("said", "listen", "look")), st.integers(1, 30))))
def test_listening_and_looking_in_any_order_lose_and_double_nothing(
    steps: list[tuple[str, int]],
) -> None:
    """Whoever looks beside one that listens waits for nothing; each line is told once, in order."""
    waits: list[float] = []

    async def look(node: Talking, following: Following) -> KernelLog | Missing:
        began = node.monotonic()
        log = await following.collect(node, Wanted())
        waits.append(node.monotonic() - began)
        return log

    async def main() -> tuple[KernelLog | Missing, int]:
        node, following = Talking(), Following()
        node.lines = [LINES[0]]
        async with asyncio.TaskGroup() as group:
            for what, tenths in steps:
                if what == "said":
                    node.lines += [LINES[tenths % len(LINES)]] * tenths
                elif what == "listen":
                    group.create_task(following.listen(node))
                else:
                    group.create_task(look(node, following))
                # Of several in one moment each comes between two steps of the others.
                await asyncio.sleep(0 if tenths % 2 else tenths / 10)
        return await look(node, following), len(node.lines)

    log, said = virtually(main)
    assert isinstance(log, KernelLog)

    assert (list(range(said)), 0, 0.0) == (
        [one.sequence for one in log.records],
        log.lost,
        max(waits),
    )


def test_what_was_overwritten_while_the_agent_was_down_is_counted(tmp_path: Path) -> None:
    """R15: the cursor outlives the agent; of 900 lines in between the ring still holds 400.

    Those are read, once, and the 500 are lost; in another boot nothing is.
    """
    node = Talking()
    kept = Keeping(tmp_path)
    kept.begin(node.boot)
    node.lines = [LINES[1]] * 100
    asyncio.run(Following(kept.state.kernel, kept.heard).collect(node, Wanted()))
    kept.end()
    kept.close(60.0)
    node.lines += [LINES[0]] * 900
    node.gone, node.sent = 600, 0
    again = Keeping(tmp_path)
    log = asyncio.run(Following(again.state.kernel, again.heard).collect(node, Wanted()))
    sent = node.sent
    other = Talking()
    other.boot, other.lines, other.gone = "b11t", [LINES[0]] * 300, 200
    elsewhere = asyncio.run(Following(again.state.kernel).collect(other, Wanted()))
    again.close(60.0)
    assert isinstance(log, KernelLog)
    assert isinstance(elsewhere, KernelLog)

    assert (500, 400, Cursor(boot_id="b00t", sequence=999), 0) == (
        log.lost,
        sent,
        again.state.kernel,
        elsewhere.lost,
    )


def test_only_the_kernel_s_sources_are_replaced() -> None:
    """Everything else of the walk is looked at as by `run`."""
    replaced = behind(Following(), sources.SOURCES)
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
