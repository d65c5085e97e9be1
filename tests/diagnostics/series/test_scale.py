"""A loss scale that falls step after step, told from the search at the start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.point import Point
from diagnostics.series.scale import falls


def run(scales: list[float | None], first: int = 1, loss: float | None = None) -> list[Point]:
    """Return points with these scales, with steps that count up."""
    return [Point(step=first + n, loss_scale=scale, loss=loss) for n, scale in enumerate(scales)]


def test_a_fall_is_one_stretch() -> None:
    """Five halvings with a step between two of them are one fall, that is still going on."""
    (fall,) = falls(run([64.0, 32.0, 16.0, 16.0, 8.0, 4.0, 2.0], first=900))

    assert (5, 64.0, 2.0, 5.0) == (fall.times, fall.started, fall.ended, fall.halved)
    assert (901, 906, True, True) == (fall.first.step, fall.last.step, fall.learnt, fall.on)


def test_a_scale_that_grows_again_ends_it() -> None:
    """Two falls with a rise between are two; so are two far apart."""
    grown = falls(run([64.0, 32.0, 64.0, 32.0]))
    apart = falls(run([64.0, 32.0, 32.0, 32.0, 32.0, 16.0]))

    assert [1, 1] == [fall.times for fall in grown]
    assert [1, 1] == [fall.times for fall in apart]


def test_the_search_at_the_start_has_learnt_nothing() -> None:
    """The first steps of a run are a search; after some with a loss they are none."""
    (search,) = falls(run([2.0**k for k in range(32, 15, -1)]))
    later = [Point(loss=2.3, loss_scale=65536.0)] * 5
    (fall,) = falls([*later, *(Point(loss_scale=2.0**k) for k in range(15, 10, -1))])

    assert (False, True) == (search.learnt, fall.learnt)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e300)), max_size=60))
def test_any_scales_are_judged(scales: list[float | None]) -> None:
    """Whatever is printed, a fall ends below where it started."""
    assert [] == [fall for fall in falls(run(scales)) if fall.ended >= fall.started]


def test_a_scale_that_never_rests_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point is asked once for its loss, however many falls there are."""
    asked: list[Point] = []

    def counted(point: Point) -> bool:
        asked.append(point)
        return True

    monkeypatch.setattr("diagnostics.series.scale._finite", counted)

    assert (500, 1_000) == (len(falls(run([64.0, 32.0] * 500, loss=2.0))), len(asked))
