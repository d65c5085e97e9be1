"""What repeats is one hit with its count, in bounded memory."""

from diagnostics.rules.fold import QUOTED, Fold
from diagnostics.rules.line import Line
from diagnostics.rules.rule import load

(OOM,) = (rule for rule in load() if rule.id == "cuda.error_out_of_memory")
TEXT = "RuntimeError: CUDA error: out of memory"


def test_repeats_are_counted() -> None:
    """The first line is kept whole, then only where the last stands and how many there were."""
    fold = Fold()
    told = [fold.add(OOM, Line(number, TEXT)) for number in (4, 9, 11)]
    told.append(fold.add(OOM, Line(12, "CUDA error: out of memory is what it says")))
    (hit,) = fold.hits()

    assert [True, True, True, False] == told
    assert (4, 11, 3, TEXT) == (hit.line, hit.last_line, hit.count, hit.text)


def test_ranks_are_told_apart_up_to_a_bound() -> None:
    """Past the bound ranks are let go and counted together: junk cannot grow the memory."""
    fold = Fold(most=3)
    for rank in range(100):
        fold.add(OOM, Line(rank + 1, f"[rank{rank}]: {TEXT}"))

    expected = [(0, 1), (1, 1), (2, 1), (None, 97)]
    assert expected == [(hit.rank, hit.count) for hit in fold.hits()]


def test_a_long_line_is_quoted_around_what_matters() -> None:
    """Of a line of 60,000 characters the quote is short and holds the words that hit."""
    fold = Fold()
    fold.add(OOM, Line(1, "x" * 30_000 + TEXT + "y" * 30_000))
    (hit,) = fold.hits()

    assert (QUOTED, True) == (len(hit.text), TEXT in hit.text)
