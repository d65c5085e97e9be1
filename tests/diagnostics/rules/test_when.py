"""The time that a line carries: epoch seconds with their error, or seconds since boot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules.when import ANY_ZONE_S, When, when

AT = 1796004669.0  # 2026-11-30 02:11:09 UTC


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2026-11-30T02:11:09+00:00 g kernel: x", (AT, 1.0, None)),
        ("2026-11-30T10:11:09.25+08:00 g kernel: x", (AT + 0.25, 0.01, None)),
        ("2026-11-29T21:11:09,250000-0500 NVRM: x", (AT + 0.25, 1e-6, None)),
        ("[2026-11-30 02:11:09,120] [INFO] x", (AT + 0.12, ANY_ZONE_S, None)),
        ("[rank3]: 2026-11-30 02:11:09Z x", (AT, 1.0, None)),
        ("[Mon Nov 30 02:11:09 2026] x", (AT, ANY_ZONE_S + 1, None)),
        ("[一 11月 30 02:11:09 2026] x", (AT, ANY_ZONE_S + 1, None)),
        ("Nov 30 02:11:09 g kernel: [12.345678] x", (None, None, 12.345678)),
        ("[12345.678901] x", (None, None, 12345.678901)),
        ("6,1042,5123456,-;x", (None, None, 5.123456)),
        ("[lun. 30 02:11:09 2026] x", (None, None, None)),
        ("2026-02-31 02:11:09 x", (None, None, None)),
        ("no time at all", (None, None, None)),
    ],
)
def test_a_time_is_read(
    line: str, expected: tuple[float | None, float | None, float | None]
) -> None:
    """A stamp without its zone can be off by any zone; one without its year is no time."""
    told = when(line.encode())

    assert expected == (told.time, told.error_s, told.booted)


def test_lines_of_one_log_are_ordered_by_the_clock_they_share() -> None:
    """Syslog's stamps have no year, and still say how long after another a line came."""
    early, late = when(b"Nov 30 02:11:09 g x: y"), when(b"Nov 30 03:11:09 g x: y")

    assert (3600.0, None) == (late.after_s(early), late.after_s(When(booted=3.0)))


@given(st.binary(max_size=500))
def test_any_bytes_carry_some_time_or_none(line: bytes) -> None:
    """Nothing raises, and a time always comes with its error."""
    told = when(line)

    assert (told.time is None) == (told.error_s is None)
