"""What a cap may be, how long it holds, and whose a limit is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediations.heat import lease
from remediations.heat.lease import Asked, Cap

CAP = Cap(before=700, ours=(630,), stepped_at=100.0, until=1000.0, boot="b")


def asked(wanted: int, **other: object) -> str | None:
    """Return the objection to a limit of a GPU that has 700 by default and 200 at least."""
    facts = {"limit": 700, "default": 700, "least": 200, "cap": None, "since_step_s": 1e9}
    return lease.objection(Asked(wanted, **{**facts, **other}))  # type: ignore[arg-type]  # by test


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"wanted": 630}, None),
        ({"wanted": 700}, None),
        ({"wanted": 629}, "700 to 629 is more than one step of 70"),
        ({"wanted": 701}, "701 is above 700, which was in force before"),
        ({"wanted": 419, "limit": 420, "cap": CAP._replace(ours=(420,))}, "419 is below the floor"),
        ({"wanted": 440, "limit": 500, "least": 450}, "another's limit of 500 is in force"),
        ({"wanted": 440, "limit": 630, "cap": CAP, "least": 450}, "440 is below the floor of 450"),
        ({"wanted": 560, "limit": 630, "cap": CAP, "since_step_s": 299.0}, "the last step was 299"),
        ({"wanted": 560, "limit": 630, "cap": CAP, "since_step_s": 300.0}, None),
        ({"wanted": 700, "limit": 630, "cap": CAP, "since_step_s": 1.0}, None),
        ({"wanted": 560, "limit": 600, "cap": CAP}, "another's limit of 600 is in force"),
    ],
)
def test_what_may_be_set(said: dict[str, object], why: str | None) -> None:
    """Each bound has its sentence."""
    got = asked(**said)  # type: ignore[arg-type]  # by test

    assert why == got or (why is not None and got is not None and got.startswith(why))


@pytest.mark.parametrize(
    ("standing", "expected"),
    [(None, 700), (600, 600), (200, 200), (199, 700), (700, 700), (800, 700)],
)
def test_what_holds_where_nobody_caps(standing: int | None, expected: int) -> None:
    """The site's limit where it is below the default and the GPU can have it."""
    assert expected == lease.base(700, 200, standing)


def test_how_it_ends() -> None:
    """What is ours is put back, what was before is done, and another's is left."""
    under_way = CAP._replace(ours=(630, 560))
    limits = (630, 560, 700, 500)

    expected = ["restore", "restore", "gone", "foreign"]
    assert expected == [lease.ending(under_way, limit) for limit in limits]


def test_how_long_it_holds() -> None:
    """It ends at its time, with its boot, and where its clock cannot be the one of now."""
    left = [CAP.left_s("b", 900.0), CAP.left_s("b", 1001.0), CAP.left_s("c", 900.0)]

    assert [100.0, -1.0, 0.0, 0.0] == [*left, CAP.left_s("b", 1.0)]


@given(st.integers(1, 10**7), st.integers(0, 10**7))
def test_steps_stay_between(default: int, least: int) -> None:
    """Steps down end at the floor, steps up below what was before."""
    limit: int | None = default
    seen = []
    while limit is not None:
        seen.append(limit)
        limit = lease.lower(limit, default, min(least, default)) if lease.step(default) else None
    floor = lease.floor(min(least, default), default)

    assert all(one >= floor for one in seen)
    assert len(seen) <= 6
