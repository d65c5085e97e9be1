"""The score: its shares, and that none of them may fall."""

import pytest

from tests.score import Judged, Truth, better, fallen, of_fault, totals

GONE, CALM = Truth(roots=("gpu_lost",), follows=("rank_missing",)), Truth()
RIGHT = Judged("a", GONE, ("gpu_lost",), ("gpu_lost", "rank_missing"), verdict="fault")
MISSED = Judged("b", GONE, ("rank_missing",), ("rank_missing", "disk_full"), verdict="fault")
QUIET = Judged("c", CALM, ())
ALARM = Judged("d", CALM, ("disk_full",), ("disk_full",), actions=2, verdict="warning")


@pytest.mark.parametrize(
    ("fault", "shares"),
    [
        ("gpu_lost", {"precision": 1.0, "recall": 0.5, "top1": 0.5}),
        ("rank_missing", {"precision": 1.0}),
        ("disk_full", {"precision": 0.0}),
    ],
)
def test_shares_of_a_fault(fault: str, shares: dict[str, float]) -> None:
    """What is told beside a root cause counts as true; what is not in the truth does not."""
    assert shares == of_fault(fault, [RIGHT, MISSED, QUIET, ALARM])


def test_totals_of_all_recordings() -> None:
    """Top-1 is of nodes with a cause; warnings and actions are counted on those without."""
    expected = {
        "recordings": 4,
        "negatives": 2,
        "top1": 0.5,
        "precision": 0.6,
        "wrong": 2,
        "warnings_on_negatives": 1,
        "actions_on_negatives": 2,
    }

    assert expected == totals([RIGHT, MISSED, QUIET, ALARM])


@pytest.mark.parametrize(
    ("now", "worse"),
    [
        ({"top1": 0.97, "wrong": 1}, []),
        ({"top1": 0.95, "wrong": 1}, ["all: top1 is 0.95, it was 0.96"]),
        ({"top1": 0.96, "wrong": 2}, ["all: wrong is 2, it was 1"]),
        ({"wrong": 0}, ["all: top1 is 0, it was 0.96"]),
    ],
)
def test_what_falls_is_named(now: dict[str, float], worse: list[str]) -> None:
    """A share that falls, or is told no more, and a count that rises are worse."""
    assert worse == fallen("all", now, {"top1": 0.96, "wrong": 1})


def test_raising_keeps_the_better_number() -> None:
    """Of shares the greater is kept, of mistakes the fewer."""
    kept = {"top1": 0.96, "wrong": 1}

    assert {"top1": 0.96, "wrong": 0} == better({"top1": 0.9, "wrong": 0}, kept)
