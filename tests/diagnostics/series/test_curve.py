"""A curve keeps the last lines in full and of older ones each k-th, and quotes what matters."""

import itertools
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.curve import Curve, Drawing
from diagnostics.series.drawn import Quote
from diagnostics.series.lines import numbers
from diagnostics.series.point import Numbers
from diagnostics.series.waiting import Lines


def iteration(step: int, loss: str = "2.0E+00", *, ms: float = 5.0, skipped: int = 0) -> bytes:
    """Return a line of Megatron's; without a loss its column is left out."""
    column = f" lm loss: {loss} |" if loss else ""
    return (
        f" iteration {step:8d}/ 900000 | elapsed time per iteration (ms): {ms:.1f} |{column}"
        f" number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |"
    ).encode()


def drawn(lines: list[bytes], most: int = 20_000) -> Curve:
    """Return the curve of the lines, counted from 1."""
    drawing = Drawing(most=most)
    for number, line in enumerate(lines, start=1):
        drawing.take(Lines.of([number], [line], [(0, False)]))
    return drawing.curve()


def in_parts(lines: list[bytes], sizes: list[int], most: int) -> Curve:
    """Return the curve of lines that come in parts of these sizes; those of a loss are notable."""
    drawing = Drawing(most=most)
    at = 0
    for size in [*sizes, len(lines)]:
        part = lines[at : at + size]
        if part:
            sorts = [(int(b"all-grads" in line), b"nan" in line) for line in part]
            drawing.take(Lines.of(list(range(at + 1, at + 1 + len(part))), part, sorts))
        at += size
    return drawing.curve()


TIMER = b"    all-grads-sync ................................: (12.31, 15.02)"
STEPS = st.lists(
    st.sampled_from(
        [
            iteration(7),
            iteration(8, ms=6.0),
            iteration(9, "nan"),
            iteration(9, "1e999"),
            iteration(10, skipped=1),
            TIMER,
            b"step 41 loss: nan",
            b"step 42 loss: 2.31",
            b"step 42 loss: 1e999 nan",
            b"lr nan",
        ]
    ),
    max_size=120,
)


@given(STEPS, st.lists(st.integers(1, 40)), st.integers(1, 20), st.integers(0, 5))
def test_what_lines_come_in_makes_no_difference(
    lines: list[bytes], sizes: list[int], most: int, notable: int
) -> None:
    """Line by line, or in parts of any size: the same curve, thinned or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diagnostics.series.curve.MOST_NOTABLE", notable)
        one_by_one = in_parts(lines, [1] * len(lines), most)
        parts = in_parts(lines, sizes, most)

    # nan differs from itself, so texts are compared.
    assert repr(one_by_one) == repr(parts)


@given(st.lists(st.sampled_from(["2.0", "nan", "inf", "nan "]), max_size=200))
def test_each_bad_loss_is_counted(losses: list[str]) -> None:
    """Of thinned lines those that are notable are counted, though hardly one is read."""
    lines = [iteration(step, loss) for step, loss in enumerate(losses)]
    sorts = [(0, "n" in loss) for loss in losses]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diagnostics.series.curve.MOST_NOTABLE", 3)
        drawing = Drawing(most=10)
        for number, line in enumerate(lines):
            drawing.take(Lines.of([number], [line], [sorts[number]]))
        curve = drawing.curve()

    assert sum("n" in loss for loss in losses) == curve.bad


def test_asking_between_changes_nothing_of_a_short_run() -> None:
    """`--follow` asks again and again."""
    asked, left = Drawing(most=50), Drawing(most=50)
    for step in range(50):
        for drawing in (asked, left):
            drawing.take(Lines.of([step], [iteration(step)], [(0, False)]))
        asked.curve()

    assert left.curve() == asked.curve()


@given(st.integers(1, 400))
def test_the_last_lines_are_kept_and_older_ones_thinned(count: int) -> None:
    """However many steps there are, the last 20 are all there, and at most 30 older ones."""
    curve = drawn([iteration(step) for step in range(1, count + 1)], most=20)
    steps = [point.step for point in curve.points]

    assert list(range(max(count - 19, 1), count + 1)) == steps[-20:]
    assert sorted(steps, key=lambda step: step or 0) == steps
    assert len(steps) <= 20 + 21


def test_each_kth_older_line_is_read() -> None:
    """Of 100 steps with room for 10, the older ones are 16 apart, and all are counted."""
    curve = drawn([iteration(step) for step in range(1, 101)], most=10)
    older = [point.step or 0 for point in curve.points[:-10]]

    assert 16 == curve.every
    assert {0} == {(b - a) % 8 for a, b in itertools.pairwise(older)}
    assert abs(curve.count - 100) <= 16


def test_a_skipped_step_is_never_thinned() -> None:
    """Two skipped steps among a thousand stay in the curve."""
    lines = [iteration(step, skipped=int(step in {251, 444})) for step in range(1, 1001)]
    curve = drawn(lines, most=10)

    assert [251, 444] == [point.step for point in curve.points if point.skipped]


def test_a_million_number_lines_take_bounded_room() -> None:
    """Between 200,000 and 400,000 lines not a megabyte is added."""
    drawing = Drawing(most=2_000)
    tracemalloc.start()
    room = []
    for step in range(1, 400_001):
        line = b" iteration %8d/ 900000 | elapsed time per iteration (ms): 5 |" % step
        drawing.take(Lines.of([step], [line], [(0, False)]))
        if step in {200_000, 400_000}:
            room.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert room[1] - room[0] < 1 << 20


def test_a_long_line_is_cut() -> None:
    """A hostile line of a megabyte is kept by its first 2,000 bytes, and told by 600."""
    curve = drawn([iteration(1) + b"x" * (1 << 20)])

    assert [600] == [len(point.text or "") for point in curve.points]


def test_the_first_bad_loss_is_quoted() -> None:
    """Where the loss went wrong, where it last was, and where it was last finite."""
    losses = {7: "nan", 9: "INF"}
    curve = drawn([iteration(step, losses.get(step, "2.0")) for step in range(1, 11)])
    quotes = (curve.first_bad, curve.last_bad, curve.finite)

    assert [7, 9, 10] == [quote.line for quote in quotes if quote]
    assert 2 == curve.bad


def test_a_timer_below_its_step_belongs_to_it() -> None:
    """Megatron prints gradient-sync time on a line of its own; before any step it is dropped."""
    timer = b"    all-grads-sync ................................: (%s, %s)"
    curve = drawn([timer % (b"1.0", b"3.0"), iteration(1, ms=9.0), timer % (b"2.5", b"4.0")])

    assert [(1, 9.0, 4.0, 2.5)] == [
        (p.step, p.step_ms, p.sync_ms, p.sync_least_ms) for p in curve.points
    ]


def test_a_dict_below_a_bar_belongs_to_its_step() -> None:
    """HF Trainer prints loss without a step; the bar above it has the step and the clock."""
    bars = [
        b" 10%|# | 10/100 [00:30<04:30,  3.00s/it]",
        b"{'loss': 2.31, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.1}",
        b" 20%|## | 20/100 [01:01<04:00,  3.00s/it]",
        b"{'loss': 2.25, 'grad_norm': 1.4, 'learning_rate': 1e-05, 'epoch': 0.2}",
    ]

    assert [(10, 2.31, None), (20, 2.25, 3100.0)] == [
        (p.step, p.loss, p.step_ms) for p in drawn(bars).points
    ]


def test_each_overflow_is_a_step() -> None:
    """A loss scaler's lines without step lines between are steps of their own; ranks repeat one."""
    overflow = (
        b"[deepspeed] OVERFLOW! Rank %d Skipping step. Attempted loss scale: %d, reducing to %d"
    )
    lines = [overflow % (0, 64, 32), overflow % (1, 64, 32), overflow % (0, 32, 16)]

    assert [(1, 32.0), (1, 16.0)] == [(p.skipped, p.loss_scale) for p in drawn(lines).points]


def test_passes_stand_in_for_steps_only_without_them() -> None:
    """DeepSpeed times passes and whole steps; whole steps are what is compared."""
    a_pass = b"time (ms) | fwd_microstep: 1.0 | bwd_microstep: 1.5 | step_microstep: 0.5"
    whole = b"time (ms) | fwd: 3.0 | bwd: 4.0 | step: 1.0"

    assert ([3.0], [8.0]) == (
        [p.step_ms for p in drawn([a_pass]).points],
        [p.step_ms for p in drawn([a_pass, whole]).points],
    )


def test_one_rank_makes_the_curve_and_all_are_timed() -> None:
    """Where each rank prints its steps, the first one's are the curve; none is lost."""
    lines = [
        b"[rank%d]: step: %d loss: 2.0 step_time: %s" % (rank, step, b"0.2" if rank else b"0.1")
        for step in range(1, 4)
        for rank in range(2)
    ]
    curve = drawn(lines)

    assert [1, 2, 3] == [point.step for point in curve.points]
    assert [(0, (100.0,) * 3), (1, (200.0,) * 3)] == [(r.rank, r.work_ms) for r in curve.ranks]


def test_a_bad_loss_of_any_rank_is_seen() -> None:
    """A rank that does not make the curve still has its NaN told."""
    lines = [b"[rank0]: step: 1 loss: 2.0", b"[rank5]: step: 1 loss: nan"]
    curve = drawn(lines)

    assert Quote(line=2, text=lines[1].decode(), step=1) == curve.first_bad
    assert [True] == [math.isnan(p.loss or 0.0) for p in curve.points]


def test_a_log_of_many_ranks_is_thinned_by_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight ranks print each step: no more lines are read than of one, and the last in full."""
    read: list[str] = []

    def counted(text: str) -> Numbers | None:
        read.append(text)
        return numbers(text)

    monkeypatch.setattr("diagnostics.series.curve.numbers", counted)
    form = b"[rank%d]: step: %d loss: 2.0 step_time: 0.1"
    curve = drawn([form % (n % 8, n // 8) for n in range(8_000)], most=160)
    steps = [point.step for point in curve.points]

    assert (True, True) == (len(read) <= 3 * 160, curve.every > 1)
    assert list(range(980, 1_000)) == steps[-20:]
