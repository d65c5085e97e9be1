"""Counters of ports from sysfs: two readings in one walk, one more each time in the daemon."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.network.counters import Counting, PortCounters, collect, parse
from collectors.network.ports import CLASS
from collectors.network.rising import Rises
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

PORT = f"{CLASS}/mlx5_3/ports/1"


def test_a_walk_reads_twice(tmp_path: Path) -> None:
    """The difference of two readings is a rate; what stands still is not told."""
    files = {f"{PORT}/counters/symbol_error": "812\n", f"{PORT}/counters/link_downed": "4\n"}
    files[f"{PORT}/hw_counters/packet_seq_err"] = "3\n"
    node = recorded(tmp_path, files=files)
    write(tmp_path / "at" / "1", files={f"{PORT}/counters/symbol_error": "843\n"})
    node = type(node)(tmp_path)

    expected = PortCounters(
        ports=(Rises(name="mlx5_3/1", per_s={"symbol_error": (31.0,)}, hour={"symbol_error": 31}),),
        seen=1,
        reading_s=1.0,
        watched_s=1.0,
    )
    assert expected == asyncio.run(collect(node, Wanted()))


def test_who_runs_long_reads_once_more_each_time(tmp_path: Path) -> None:
    """The second look compares with the first look's last reading, ten seconds before."""
    node = recorded(tmp_path, files={f"{PORT}/counters/symbol_error": "0\n"})
    write(tmp_path / "at" / "5", files={f"{PORT}/counters/symbol_error": "100\n"})
    node = type(node)(tmp_path)

    async def twice() -> PortCounters | Missing:
        counting = Counting()
        await counting.collect(node, Wanted())
        await node.sleep(10.0)
        return await counting.collect(node, Wanted())

    seen = asyncio.run(twice())

    assert isinstance(seen, PortCounters)
    assert ((0.0, 10.0), 10.0, 11.0) == (
        seen.ports[0].per_s["symbol_error"],
        seen.reading_s,
        seen.watched_s,
    )


def test_a_node_without_ports_has_no_counters(tmp_path: Path) -> None:
    """It was looked at once, and there is nothing to compare."""
    assert PortCounters() == asyncio.run(collect(recorded(tmp_path), Wanted()))


def test_a_card_that_comes_later_is_seen_by_the_next_walk(tmp_path: Path) -> None:
    """Where there is no port it is looked again once in a walk, and not every ten seconds."""
    recorded(tmp_path)
    write(tmp_path / "at" / "5", files={f"{PORT}/counters/symbol_error": "0\n"})
    node = Recorded(tmp_path)

    async def seen() -> list[int]:
        counting, counts = Counting(), []
        for _ in range(4):
            found = await counting.collect(node, Wanted())
            assert isinstance(found, PortCounters)
            counts.append(found.seen)
            await node.sleep(10.0)
        return counts

    assert [0, 0, 0, 1] == asyncio.run(seen())


@given(st.dictionaries(st.sampled_from(["symbol_error", "link_downed"]), st.text(max_size=30)))
def test_what_is_no_number_is_left_out(texts: dict[str, str]) -> None:
    """Any text of a counter's file is a number of at most 20 digits, or no counter."""
    seen = parse(Files(texts={f"{PORT}/counters/{name}": text for name, text in texts.items()}))
    counters = seen.get("mlx5_3/1", {})

    assert set(counters) == {
        name
        for name, text in texts.items()
        if text.strip().isdecimal() and text.strip().isascii() and len(text.strip()) <= 20
    }
