"""A line says which rank wrote it, in the forms of launchers and frameworks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules.line import Line, decoded, plain


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("[rank3]: Traceback (most recent call last):", 3),
        (
            "[rank12]:[E1130 02:11:09.120 ProcessGroupNCCL.cpp:632] [PG ID 2 PG GUID 5 Rank 12] x",
            12,
        ),
        ("[E1130 02:11:09.120 ProcessGroupNCCL.cpp:632] [PG ID 2 PG GUID 5 Rank 11] Watchdog", 11),
        ("[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught", 1),
        (
            "[2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 1",
            0,
        ),
        ("rank=7 time (ms) | fwd_microstep: 10.2", 7),
        ("3: loss nan", 3),
        (" 13: loss nan", 13),
        ("[1,6]<stderr>:loss nan", 6),
        ("iteration 3: loss nan", None),
        ("02:11:09 loss nan", None),
        ("epoch 3 [ranking] loss nan", None),
    ],
)
def test_rank(text: str, rank: int | None) -> None:
    """A rank is taken from a prefix that says so, never from any number."""
    assert rank == Line(1, text).rank


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b"\x1b[1;31mloss:\x1b[0m nan\n", b"loss: nan\n"),
        (b"\x1b]0;title\x07loss\n", b"loss\n"),
        (b"\x1b(Bloss\x1b[K\n", b"loss\n"),
        (b"no escape\n", b"no escape\n"),
    ],
)
def test_escapes_are_off(piece: bytes, expected: bytes) -> None:
    """Colour codes stand between words of a message and are no part of it."""
    assert expected == plain(piece)


@given(st.binary())
def test_line_ends_stay(piece: bytes) -> None:
    """Whatever escapes a log holds, its lines keep their numbers."""
    assert piece.count(b"\n") == plain(piece).count(b"\n")


def test_bytes_that_are_no_text_are_shown() -> None:
    """Invalid UTF-8 is shown byte by byte, so that evidence is text everywhere."""
    assert "loss \\xff nan" == decoded(b"loss \xff nan")
