"""A run in the document: bounded curves at one distance, with marks where something was found."""

import json

from diagnostics.document import plain
from diagnostics.series.curve import Curve
from diagnostics.series.job import job
from diagnostics.series.point import Point

POINTS = tuple(Point(step=n, line=2 * n, loss=1.0 / n, lr=3e-7) for n in range(1, 101))


def test_a_short_run_is_whole() -> None:
    """Each step with its loss; curves without values are left out."""
    run = job("train.log", Curve(points=POINTS, framework="ddp"), ())

    assert ["loss", "lr"] == list(run.series)
    assert tuple(range(1, 101)) == run.series["loss"].step
    assert ("ddp", 100, 1) == (run.framework, run.last_step, run.series["loss"].every)


def test_a_long_run_is_thinned_evenly() -> None:
    """Of 100 points with room for 30 every fourth is left, up to the last."""
    series = job("train.log", Curve(points=POINTS), (), most=30).series["loss"]

    assert (tuple(range(4, 101, 4)), 4) == (tuple(s + 3 for s in series.step if s), series.every)


def test_a_finding_is_marked_at_its_step() -> None:
    """A line between two steps belongs to the earlier one; one before all has no step."""
    told = [("nan_loss", "critical", 21), ("loss_spike", "warning", 1)]
    marks = job("train.log", Curve(points=POINTS), told).marks

    assert [("loss_spike", None), ("nan_loss", 10)] == [(m.fault, m.step) for m in marks]


def test_small_and_odd_numbers_survive() -> None:
    """A rate of 3e-07 is not rounded away, and NaN is the word."""
    points = (*POINTS, Point(step=101, loss=float("nan"), lr=3e-7))
    told = json.loads(json.dumps(plain(job("train.log", Curve(points=points), ()))))

    assert (3e-07, "nan") == (
        told["series"]["lr"]["value"][-1],
        told["series"]["loss"]["value"][-1],
    )
