"""Reading and searching the kernel log on: always what reading it whole would show."""

import asyncio
import time
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.keeping import Keeping
from agent.daemon.kernel import Searching, behind
from agent.walk import kernel, sources
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.kernel import log as whole_log
from collectors.kernel.following import PIECE, Cursor, Following
from diagnostics.rules.kernel import KernelSymptoms
from tests.agent.daemon.talking import LINES, Talking
from tests.agent.daemon.virtual import Still
from tests.pace import slower


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

    The ring holds 30,000 of them, and 20,000 are kept. It takes less than 2 s of a usual processor.
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
        took < 2.0 * slower(),
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
