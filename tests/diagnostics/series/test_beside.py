"""Of the first step with a loss that is no number each rank's line counts, thinned or not."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.by_rank import Elsewhere
from diagnostics.series.curve import Drawing
from diagnostics.series.waiting import Lines


def printed(ranks: int, steps: int, bad: int, *, mixed: bool = False) -> list[bytes]:
    """Return the lines of ranks of which the fourth has no number from a step on."""
    draw, lines = random.Random(5), list[bytes]()  # noqa: S311 - text, no secret
    for step in range(steps):
        order = list(range(ranks))
        if mixed:
            draw.shuffle(order)
        losses = {rank: "nan" if rank == 3 and step >= bad else "2.31" for rank in order}
        lines += (f"[rank{r}]: step: {step} loss: {loss}".encode() for r, loss in losses.items())
    return lines


def elsewhere(lines: list[bytes], size: int, most: int = 20_000) -> Elsewhere | None:
    """Return who printed the first bad step, of lines that come in parts of one size."""
    drawing = Drawing(most=most)
    for at in range(0, len(lines), size):
        part = lines[at : at + size]
        sorts = [(0, b"nan" in line) for line in part]
        drawing.take(Lines.of(list(range(at + 1, at + 1 + len(part))), part, sorts))
    return drawing.curve().elsewhere


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("bad", [40, 5_000, 20_000, 27_499, 27_500, 29_990])
def test_the_rank_is_named_of_a_long_log(bad: int, *, mixed: bool) -> None:
    """Of 8 ranks with 30,000 steps one alone is bad: the seven others are known to be clean."""
    lines = printed(8, 30_000, bad, mixed=mixed)

    assert Elsewhere(step=bad, bad=(3,), clean=(0, 1, 2, 4, 5, 6, 7)) == elsewhere(lines, 2_500)


@given(
    st.integers(4, 9),
    st.integers(1, 60),
    st.integers(0, 59),
    st.integers(1, 50),
    st.integers(1, 500),
)
def test_thinning_hides_no_rank(ranks: int, steps: int, bad: int, size: int, most: int) -> None:
    """Whatever is thinned, in whatever parts it comes: the same as of a log that is read whole."""
    lines = printed(ranks, steps, bad, mixed=True)

    assert elsewhere(lines, len(lines)) == elsewhere(lines, size, most)


def test_lines_far_away_are_not_looked_at() -> None:
    """What a rank prints more than 1,024 lines before is not kept."""
    early = b"[rank1]: step: 7 loss: 2.31"
    filling = [b"[rank0]: step: 7 loss: 2.31"] * 1_024
    # The first line of all is read in any case.
    lines = [
        b"[rank0]: step: 7 loss: 2.31",
        early,
        *filling,
        b"[rank3]: step: 7 loss: nan",
        *filling * 2,
    ]

    assert Elsewhere(step=7, bad=(3,), clean=(0,)) == elsewhere(lines, 100, most=16)
