"""Anchors find the lines that hold them: no line is missed, none is found twice."""

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules.anchors import Anchors
from diagnostics.rules.line import LINE_CAP

WORDS = ("out of memory", "timeout", "loss: nan")
ANCHORS = Anchors(WORDS)
TEXT = st.lists(
    st.sampled_from(
        [
            b"x",
            b"\n",
            b"\n\n",
            b"TIMEOUT",
            b"timeout",
            b"Loss: NaN",
            b"out of memory",
            b"\xff",
            b"\0",
        ]
    )
).map(b"".join)


@given(TEXT)
def test_lines_are_those_that_hold_an_anchor(piece: bytes) -> None:
    """One pass over bytes says the same as looking for each word in each line."""
    lines = piece.split(b"\n")
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in range(len(lines))]
    expected = [
        (start, line, {n for n, word in enumerate(WORDS) if word.encode() in line.lower()})
        for start, line in zip(starts, lines, strict=True)
        if any(word.encode() in line.lower() for word in WORDS)
    ]

    assert expected == [(f.start, f.line, set(f.anchors)) for f in ANCHORS.lines(piece)]


def test_an_anchor_may_end_with_the_line_end() -> None:
    """Where an anchor asks for no letter behind it, a line end will do and stays out."""
    found = Anchors(["=inf[^a-z]"]).lines(b"a\nloss=inf\nb\nloss=inf x\nloss=info\n")

    assert [(2, b"loss=inf"), (13, b"loss=inf x")] == [(f.start, f.line) for f in found]


def test_a_hit_past_the_cap_is_none() -> None:
    """Of a line of 200 KB only the first 64 KiB are looked at, and the next line is whole."""
    piece = b"x" * 200_000 + b" timeout" * 50 + b"\ntimeout\n"
    found = ANCHORS.lines(piece)

    assert [(200_401, b"timeout")] == [(f.start, f.line) for f in found]


def test_a_line_of_hits_is_one_line() -> None:
    """A hundred thousand hits in one line are one line, cut at the cap."""
    found = ANCHORS.lines(b"timeout " * 100_000)

    assert [(0, LINE_CAP, [1])] == [(f.start, len(f.line), f.anchors) for f in found]
