"""A job is suspected where log and ranks both stood still for longer than it ever takes."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.jobs.activity import Work
from diagnostics.series.progress import (
    FIRST_STEP_S,
    LEAST_S,
    SETTLED_S,
    TIMES,
    Followed,
    Sample,
    advance,
)

STEP = 10.0
IDLE, BUSY = 0, 4_000_000


def looks(*seen: tuple[float, int, int], usual_s: float | None = None) -> Followed:
    """Return what is known after looks of (seconds since the last, steps so far, bytes moved)."""
    followed: Followed | None = None
    at, moved = 0.0, 0
    for seconds, steps, more in seen:
        at += seconds
        moved += more
        grown = followed is None or followed.last.steps != steps
        log_s = 0.0 if grown else at - (followed.log_at or 0.0) if followed else 0.0
        work = {7: Work(ticks=0, bytes=moved)}
        sample = Sample(at=at, steps=steps, log_s=log_s, work=work, usual_s=usual_s)
        followed = advance(followed, sample)
    assert followed is not None
    return followed


GOES_ON = tuple((STEP, number, BUSY) for number in range(1, 20))


def still(seconds: float) -> tuple[tuple[float, int, int], ...]:
    """Return looks at a job of which nothing moves."""
    return tuple((STEP, 19, IDLE) for _ in range(int(seconds / STEP)))


def test_a_job_that_steps_is_not_suspected() -> None:
    """Its wait is three of its own slow steps."""
    followed = looks(*GOES_ON)
    assert (TIMES * STEP, 0.0, False) == (
        followed.wait_s(),
        followed.stopped_s(),
        followed.suspected(),
    )


def test_a_hang_is_suspected_after_the_wait_and_settled_a_minute_later() -> None:
    """Not one look sooner, and not one later."""
    phases = [
        (seen.suspected(), seen.settled())
        for seconds in range(10, 110, 10)
        for seen in [looks(*GOES_ON, *still(seconds))]
    ]
    expected = [(s >= LEAST_S, s >= LEAST_S + SETTLED_S) for s in range(10, 110, 10)]
    assert expected == phases


def test_ranks_that_work_while_the_log_is_silent_go_on() -> None:
    """A checkpoint, an evaluation or a slow loader reads and writes without a line."""
    silent = tuple((STEP, 19, BUSY) for _ in range(60))
    assert not looks(*GOES_ON, *silent).suspected()


def test_a_slow_job_is_given_its_own_time() -> None:
    """Steps of four minutes may stand still for twelve."""
    slow = looks(*GOES_ON, *still(700), usual_s=240.0)
    later = looks(*GOES_ON, *still(730), usual_s=240.0)
    assert (720.0, False, True) == (slow.wait_s(), slow.suspected(), later.suspected())


def test_before_the_first_step_ten_minutes_are_given() -> None:
    """It compiles, loads and connects."""
    early = looks((STEP, 0, BUSY), *((STEP, 0, IDLE) for _ in range(59)))
    late = looks((STEP, 0, BUSY), *((STEP, 0, IDLE) for _ in range(61)))
    assert (FIRST_STEP_S, False, True) == (early.wait_s(), early.suspected(), late.suspected())


def test_one_source_alone_suspects_nobody() -> None:
    """Without a log that can be read, idle ranks may be doing well."""
    at = [Sample(at=float(s), work={7: Work(ticks=0, bytes=0)}) for s in range(0, 4000, 10)]
    followed: Followed | None = None
    for sample in at:
        followed = advance(followed, sample)
    assert followed is not None
    assert (None, False) == (followed.stopped_s(), followed.suspected())


def test_the_first_look_believes_what_the_kernel_keeps() -> None:
    """A walk on its own sees when the file grew, and for how long no rank has run."""
    work = {7: Work(ticks=1, bytes=1)}
    seen = Sample(at=1000.0, steps=40, log_s=50.0, work=work, still_s=45.0, usual_s=1.0)
    followed = advance(None, seen)
    assert (45.0, True) == (followed.stopped_s(), followed.suspected())


LOOKS = st.lists(
    st.tuples(st.sampled_from((5.0, 10.0, 15.0)), st.booleans(), st.booleans()), max_size=60
)


@given(seen=LOOKS)
def test_whoever_moved_within_the_wait_is_never_suspected(
    seen: list[tuple[float, bool, bool]],
) -> None:
    """Whatever comes before: a step, or work of a rank, within the least wait acquits."""
    steps, looked = 1, [(10.0, 1, BUSY)]
    for seconds, stepped, worked in seen:
        steps += stepped
        looked.append((seconds, steps, BUSY if worked else IDLE))
    followed = looks(*looked)
    passed, recent = 0.0, False
    for seconds, stepped, worked in reversed(seen):
        recent = recent or ((stepped or worked) and passed < LEAST_S)
        passed += seconds
    assert not (recent and followed.suspected())
    assert followed.suspected() or not followed.settled()
