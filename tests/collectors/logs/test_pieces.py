"""Bytes of a log are cut into pieces that end with a line, whatever the bytes are."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.logs.pieces import BLOCK, LINE_CAP, pieces, sliced

TEXT = st.lists(st.sampled_from([b"a", b"loss", b"\n", b"\r", b"\r\n", b"\xff", b""])).map(b"".join)


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Yield *data* in blocks of the given sizes, then the rest."""
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


@given(TEXT, st.lists(st.integers(0, 7), max_size=12))
def test_nothing_but_line_ends_changes(data: bytes, sizes: list[int]) -> None:
    """However blocks fall, also between CR and LF, the same lines come out."""
    expected = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    assert expected == b"".join(pieces(split(data, sizes)))


@given(TEXT, st.lists(st.integers(0, 7), max_size=12))
def test_pieces_end_with_a_line(data: bytes, sizes: list[int]) -> None:
    """Only the last piece may end inside a line, so that no line is cut in two."""
    cut = [piece for piece in pieces(split(data, sizes)) if piece]

    assert [] == [piece for piece in cut[:-1] if not piece.endswith(b"\n")]


def test_nothing_new_is_an_empty_piece() -> None:
    """Of a file that grows: what has no end yet waits, and the reader goes on to other files."""
    blocks = [b"one\ntw", b"", b"o\r", b"", b"\nthree\n"]

    assert [b"one\n", b"", b"", b"two\nthree\n"] == list(pieces(blocks))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_past_the_cap_is_cut(end: bytes) -> None:
    """A line of 3 MiB keeps its first bytes, and the lines around it stay whole and in place."""
    data = b"before" + end + b"x" * (3 * BLOCK) + end + b"after" + end
    kept = b"".join(pieces(sliced(data)))
    lines = kept.split(b"\n")

    assert [b"before", b"after", b""] == [lines[0], *lines[2:]]
    assert LINE_CAP <= len(lines[1]) <= 2 * BLOCK


def test_a_file_without_line_ends_takes_no_memory() -> None:
    """200 MB in one line pass through a few blocks' worth of memory."""
    block = b"x" * BLOCK
    tracemalloc.start()
    try:
        kept = sum(map(len, pieces(block for _ in range(200))))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (LINE_CAP, True) == (kept, peak < 8 * BLOCK)
