"""What ranks print of themselves, in lists of times and in losses of one step."""

import pytest

from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.series.by_rank import Elsewhere
from diagnostics.series.curve import Curve
from diagnostics.series.point import Point


def read(text: str) -> Curve:
    """Return the numbers of a log, read as a whole."""
    reading = Reading(Knowledge.of([]), "train.log")
    reading.feed(text.encode())
    return reading.seen().curve


def times(*ranks: float) -> str:
    """Return the lists of times that Megatron prints for all ranks."""
    rows = "".join(f"     rank {rank:2}: {ms:.2f}\n" for rank, ms in enumerate(ranks))
    waits = "".join(f"     rank {rank:2}: {900 - ms:.2f}\n" for rank, ms in enumerate(ranks))
    return f"times across ranks (ms):\n  forward-compute:\n{rows}  all-grads-sync:\n{waits}"


def test_lists_of_times_tell_what_each_rank_works() -> None:
    """Of the lists that of the computing alone counts, not that of the waiting."""
    curve = read(times(310.5, 310.25, 388.75) * 3)
    assert {0: (310.5,) * 3, 1: (310.25,) * 3, 2: (388.75,) * 3} == {
        rank.rank: rank.work_ms for rank in curve.ranks
    }


def test_a_list_with_a_gap_is_not_read_on() -> None:
    """Behind a line of another writer nobody knows whose list goes on."""
    text = times(310.5, 310.25, 388.75).replace("     rank  1", "loss is fine\n     rank  1", 1)
    assert () == read(text).ranks


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ("nan 2.1 2.2", Elsewhere(step=7, bad=(0,), clean=(1, 2))),
        ("2.1 2.2 nan", Elsewhere(step=7, bad=(2,), clean=(0, 1))),
        ("nan nan nan", Elsewhere(step=7, bad=(0, 1, 2), clean=())),
        ("2.1 2.2 2.0", None),
    ],
)
def test_who_else_printed_the_step(losses: str, expected: Elsewhere | None) -> None:
    """The first bad step counts; in the next one all ranks have it."""
    steps = {5: "2.3 2.2 2.1", 6: "2.2 2.2 2.1", 7: losses, 8: losses.replace("2.", "nan #")}
    text = "".join(
        f"[rank{rank}]: step: {step} loss: {loss}\n"
        for step, each in steps.items()
        for rank, loss in enumerate(each.split(" ") if step < 8 else ["nan"] * 3)
        if expected or step < 8
    )
    assert expected == read(text).elsewhere


COMPOSER = """[batch={n}/4800]:
\t Train time/batch: {n}
\t Train l2_norm/grad/global: 0.7125
\t Train loss/train/total: 6.8213
\t Train throughput/batches_per_sec: 0.4
\t Train throughput/tokens_per_sec: 108224.5
"""


def test_a_block_is_one_step() -> None:
    """Composer prints a number in each line of a block."""
    points = read(COMPOSER.format(n=31) + COMPOSER.format(n=32)).points
    told = [(p.step, p.loss, p.grad_norm, p.step_ms, p.rate) for p in points]
    assert [(n, 6.8213, 0.7125, 2500.0, 108224.5) for n in (31, 32)] == told


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            (
                "INFO 11-30 05:11:09 [loggers.py:116] Engine 000: Avg prompt throughput: 812.4 "
                "tokens/s, Avg generation throughput: 411.7 tokens/s, Running: 12 reqs"
            ),
            411.7,
        ),
        (
            (
                "[2026-11-30 05:11:09 TP0] Decode batch. #running-req: 12, token usage: "
                "0.02, gen throughput (token/s): 411.72, #queue-req: 0"
            ),
            411.72,
        ),
        ("Output token throughput (tok/s):         5129.40", 5129.4),
    ],
)
def test_servers_tell_what_they_generate(line: str, expected: float) -> None:
    """It follows the load: it is drawn, and no time of a step."""
    assert (Point(served=expected, line=1, text=line),) == read(line + "\n").points


def test_a_row_of_nccl_tests_is_a_point() -> None:
    """The bus bandwidth of each large collective, though it has neither step nor loss."""
    row = "  8589934592    2147483648     float     sum      -1    35012  245.34  460.02      0\n"
    assert [460.02] * 3 == [p.bus_gb_s for p in read(row * 3).points]


def test_a_line_of_maxtext_is_a_step() -> None:
    """JAX: seconds, tokens and loss in one line."""
    line = (
        "completed step: 10, seconds: 1.25, TFLOP/s/device: 311.2, Tokens/s/device: 6553.6, "
        "total_weights: 65536, loss: 9.876\n"
    )
    (point,) = read(line).points
    assert (10, 1250.0, 6553.6, 9.876) == (point.step, point.step_ms, point.rate, point.loss)


@pytest.mark.parametrize(
    ("lines", "still"),
    [
        (["[rank3]: step: 7 loss: nan", "[rank0]: step: 7 loss: 2.1"], (3,)),
        (["[rank3]: step: 7 loss: nan", "[rank0]: step: 8 loss: 2.1"], (3,)),
        (["[rank3]: step: 7 loss: nan", "[rank3]: step: 8 loss: 2.1"], ()),
        (["[rank3]: step: 7 loss: nan", "[rank0]: step: 9 loss: 2.1"], ()),
        (["step: 7 loss: nan", "step: 8 loss: 2.1"], ()),
    ],
)
def test_a_finite_loss_of_one_rank_says_nothing_of_another(
    lines: list[str], still: tuple[int, ...]
) -> None:
    """A rank is still bad where it is in its last step, and that is the run's."""
    curve = read("".join(f"{line}\n" for line in lines))

    assert still == curve.still
