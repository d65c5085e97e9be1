"""Packed logs come out as they went in, and damage is said after what could be read."""

import gzip
import io
import lzma
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.logs.pieces import BLOCK
from collectors.logs.unpack import GZIP, XZ, ZSTD, Damaged, blocks

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}
TEXT = b"".join(b"iteration %d loss 2.%d\n" % (n, n * 7919) for n in range(60_000))


def read(data: bytes) -> list[bytes]:
    """Return the blocks of a log that holds *data*."""
    return list(blocks(io.BufferedReader(io.BytesIO(data))))


@pytest.mark.parametrize("name", PACKERS)
def test_what_was_packed_comes_out(name: str) -> None:
    """The first bytes tell the form; no block is larger than asked for."""
    came = read(PACKERS[name](TEXT))

    assert (TEXT, True) == (b"".join(came), max(map(len, came)) <= BLOCK)


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_members_follow_each_other(name: str) -> None:
    """Logs that are appended to in packed form have several members; all are read."""
    packed = PACKERS[name](b"first\n") + PACKERS[name](b"second\n")

    assert b"first\nsecond\n" == b"".join(read(packed))


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_a_cut_file_is_damaged(name: str) -> None:
    """A copy that stopped half way gives what it holds, then says that it is cut."""
    packed = PACKERS[name](TEXT)
    came = []
    with pytest.raises(Damaged) as raised:  # noqa: PT012 - what came before the error counts
        for block in blocks(io.BufferedReader(io.BytesIO(packed[: len(packed) // 2]))):
            came += [block]

    assert "cut short or damaged" in str(raised.value)
    assert TEXT.startswith(b"".join(came))


@given(st.sampled_from([b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b""]), st.binary())
def test_any_bytes_are_read_or_damaged(magic: bytes, rest: bytes) -> None:
    """Junk behind a packer's first bytes is damage; junk alone is a log like any other."""
    data = magic + rest
    packed = data.startswith((GZIP, ZSTD, XZ))
    try:
        came = b"".join(read(data))
    except Damaged:
        assert packed
    else:
        assert packed or came == data
