"""The most that came within some time is never told too high, and in constant room."""

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.rules.kernel import KernelHit, KernelKnowledge, Search, load
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.window import PARTS, Window

KERNEL = KernelKnowledge(load())
DIMM = (
    "EDAC MC1: {} CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0"
    " (channel:1 slot:0 page:{:#x} offset:0x940 grain:32 syndrome:0x0)"
)
LINK = "pcieport 0000:4c:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (x)"
DAY, TEN_MIN = 86_400.0, 600.0


def exact(seconds: float, came: list[tuple[float, int]]) -> int:
    """Return the most of any window, by keeping all that came."""
    held: deque[tuple[float, int]] = deque()
    most = 0
    for at, amount in came:
        held.append((at, amount))
        while held[0][0] <= at - seconds:
            held.popleft()
        most = max(most, sum(amount for _, amount in held))
    return most


@given(st.lists(st.tuples(st.floats(0, 5_000), st.integers(1, 50)), min_size=1, max_size=60))
def test_it_is_never_too_high_and_seldom_too_low(came: list[tuple[float, int]]) -> None:
    """Between the most of a shorter window and that of the whole one."""
    came.sort()
    window = Window(TEN_MIN)
    for at, amount in came:
        window.add(at, amount)

    assert exact(TEN_MIN * (PARTS - 1) / PARTS, came) <= window.most <= exact(TEN_MIN, came)


@given(st.floats(1, 1e6), st.integers(2, 100_000))
def test_what_came_between_two_times_is_spread(span: float, times: int) -> None:
    """Of a thousand lines of which the first and last time are known, the least peak is told."""
    window = Window(TEN_MIN)
    window.add(0.0, 1)
    window.add(span, 1, times)

    assert window.most <= 1 + times * min(1.0, TEN_MIN / span) + 1


def test_a_new_boot_is_counted_by_itself() -> None:
    """Seconds since boot begin again: what was before is not within the same time."""
    window = Window(TEN_MIN)
    window.add(9_000.0, 5)
    window.add(10.0, 3)
    window.add(20.0, 1)

    assert 5 == window.most


def live(lines: list[tuple[float, str]]) -> KernelHit:
    """Return the one hit of records of the kernel's own log."""
    records = tuple(
        Record(sequence=n, boot_s=at, level=4, facility=0, text=text)
        for n, (at, text) in enumerate(lines)
    )
    search = Search(KernelLog(records=records), KERNEL)
    search.feed(records)
    (hit,) = search.seen().hits
    return hit


def filed(text: str) -> KernelHit:
    """Return the one hit of a file."""
    reading = Reading(Knowledge.of(load()), "kern.log")
    for piece in (text[:4_000_000], text[4_000_000:]):
        reading.feed(piece.encode())
    seen = reading.seen().kernel
    assert seen is not None
    (hit,) = seen.hits
    return hit


def test_a_module_counts_for_what_its_lines_say() -> None:
    """A line stands for all errors since the last one, which is why lines alone are no rate."""
    lines = [(100.0 + n * 3_600, DIMM.format(5, n)) for n in range(30)]

    assert (30, 24 * 5, DAY) == ((hit := live(lines)).count, hit.peak, hit.window_s)


@pytest.mark.parametrize(
    ("stamp", "peak"),
    [
        (lambda n: f"[{n:5d}.000000] ", 600),
        (lambda n: f"Nov 30 02:{n // 60 % 60:02}:{n % 60:02} gpu-017 kernel: ", 600),
        (
            lambda n: f"2026-11-30T02:{n // 60 % 60:02}:{n % 60:02}.120331+00:00 gpu-017 kernel: ",
            600,
        ),
        (lambda n: f"[Mon Nov 30 02:{n // 60 % 60:02}:{n % 60:02} 2026] ", 600),
    ],
)
def test_a_file_tells_its_rate_by_its_stamps(stamp: Callable[[int], str], peak: int) -> None:
    """One error a second for forty minutes is 600 in ten minutes, by whichever clock."""
    text = "".join(f"{stamp(n)}{LINK}\n" for n in range(2_400))
    hit = filed(text)

    assert (2_400, True) == (hit.count, peak - 26 <= (hit.peak or 0) <= peak)


def test_lines_without_a_time_have_no_rate() -> None:
    """Pasted lines say how many, not how fast."""
    assert (50, None) == ((hit := filed(f"{LINK}\n" * 50)).count, hit.peak)


def test_a_rare_error_of_years_is_no_rate() -> None:
    """One a day for a year is 365, and never more than one or two within a day."""
    lines = [(day * DAY, DIMM.format(1, day)) for day in range(365)]

    assert (365, 1) == ((hit := live(lines)).count, hit.peak)
