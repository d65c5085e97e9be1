"""A log that is full of one line: the same is found as line by line, and far sooner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import knowledge
from diagnostics.rules.dense import LEAST_LINES, Kind, kinds
from diagnostics.rules.knowledge import Knowledge, Plan
from diagnostics.rules.reading import Reading
from diagnostics.rules.search import Counting, Place, Search
from diagnostics.rules.seen import LogSeen

XID = "NVRM: Xid (PCI:0000:{bus}:00): {xid}, pid={n}, name=rank{n}, {text}"
LINES = st.sampled_from(
    [
        "[{n:5d}.{n:06d}] " + XID.format(bus="4e", xid=31, n="{n}", text="MMU Fault"),
        "[{n:5d}.{n:06d}] " + XID.format(bus="9a", xid=31, n="{n}", text="MMU Fault"),
        "[{n:5d}.{n:06d}] " + XID.format(bus="4e", xid=79, n=1, text="GPU has fallen off the bus."),
        "[{n:5d}.{n:06d}] "
        + XID.format(bus="4e", xid=154, n=1, text="GPU recovery action")
        + " changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        "[{n:5d}.{n:06d}] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05",
        "[{n:5d}.{n:06d}] I/O error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1",
        "[{n:5d}.{n:06d}] perf: interrupt took too long",
        "<12>[{n:5d}.{n:06d}] " + XID.format(bus="4e", xid=79, n=1, text="x"),
        "Nov 30 02:11:{s:02d} g kernel: [{n:5d}.{n:06d}] "
        + XID.format(bus="4e", xid=48, n=1, text="DBE"),
        "2026-11-30 02:11:{s:02d} RuntimeError: CUDA error: out of memory",
        "iteration {n}/ 900 | elapsed time per iteration (ms): 310.2 | lm loss: 6.1 |",
        "",
    ]
)
RUNS = st.lists(st.tuples(LINES, st.integers(1, 200)), max_size=8)


def log(runs: list[tuple[str, int]]) -> list[bytes]:
    """Return pieces of the lines, each repeated with times that change."""
    lines = [form for form, count in runs for _ in range(count)]
    texts = [form.format(n=n, s=n % 60).encode() for n, form in enumerate(lines)]
    return [
        b"".join(line + b"\n" for line in texts[at : at + 90]) for at in range(0, len(texts), 90)
    ]


def read(pieces: list[bytes], *, dense: bool) -> LogSeen:
    """Read a log, by kinds of lines wherever that can be, or not at all."""
    reading = Reading(knowledge(), "some.log")
    for piece in pieces:
        reading.feed(piece)
        reading._dense = dense
    reading._dense = dense
    return reading.seen()


@given(RUNS)
def test_by_kinds_or_by_lines_makes_no_difference(runs: list[tuple[str, int]]) -> None:
    """First and last line, count, time, and what is over: all the same."""
    head = [b"[    1.000000] perf: interrupt\n" * 2_500]
    pieces = head + log(runs)

    assert repr(read(pieces, dense=False)) == repr(read(pieces, dense=True))


def test_times_alone_make_no_kind() -> None:
    """Lines that differ in time are one kind, those that differ in a number are not."""
    same = b"".join(b"[%d.000000] eth0: up\n" % (1_000 + n) for n in range(LEAST_LINES))
    other = b"".join(b"[    1.000000] eth%d: up\n" % n for n in range(LEAST_LINES))
    found = kinds(same)

    assert found is not None
    assert ([(0, LEAST_LINES - 1, LEAST_LINES)], None) == (
        [(kind.first, kind.last, kind.count) for kind in found],
        kinds(other),
    )


def test_a_dense_log_is_read_by_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million equal lines do not go through the search one by one."""
    asked: list[int] = []

    def counted(piece: bytes) -> list[Kind] | None:
        asked.append(len(piece))
        return kinds(piece)

    monkeypatch.setattr("diagnostics.rules.reading.kinds", counted)
    line = b"[    1.000000] NVRM: Xid (PCI:0000:4e:00): 31, pid=1, name=x, MMU Fault\n"
    reading = Reading(knowledge(), "some.log")
    for _ in range(4):
        reading.feed(line * 2_000)
    seen = reading.seen()

    assert seen.kernel is not None
    assert (3, 8_000, 8_000) == (len(asked), seen.kernel.hits[0].count, seen.lines)


@given(st.binary(max_size=2_000))
def test_any_bytes_have_kinds_or_none(data: bytes) -> None:
    """Kinds account for every line."""
    piece = data * 40
    found = kinds(piece)
    lines = len(piece.split(b"\n")) - (piece.endswith(b"\n") or not piece)

    assert found is None or lines == sum(kind.count for kind in found)


def test_a_kind_is_searched_once_and_counted_in_each_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Xids of two GPUs, with other pids and addresses in each line, over ten pieces."""
    asked: list[int] = []
    line = Search.line

    def counted(
        search: Search, place: Place, plan: Plan, known: Knowledge
    ) -> tuple[Counting, ...] | None:
        asked.append(place.number)
        return line(search, place, plan, known)

    monkeypatch.setattr(Search, "line", counted)
    form = b"[%5d.000000] NVRM: Xid (PCI:0000:%s:00): 31, pid=%d, name=x, Ch %08x, MMU Fault\n"
    reading = Reading(knowledge(), "some.log")
    for start in range(0, 10_000, 1_000):
        numbers = range(start, start + 1_000)
        reading.feed(b"".join(form % (n, (b"4e", b"9a")[n % 2], 70 + n, n) for n in numbers))
        reading._dense = True
    seen = reading.seen()

    assert seen.kernel is not None
    assert (True, [5_000, 5_000]) == (len(asked) < 10, [hit.count for hit in seen.kernel.hits])
