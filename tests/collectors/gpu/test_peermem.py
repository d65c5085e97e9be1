"""What lets a network card reach GPU memory."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.gpu.peermem import PeerMemory, collect, release
from collectors.node.live import Live
from tests.recording import recorded

RELEASE = "/proc/sys/kernel/osrelease"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "/sys/module/nvidia_peermem/version": "580.95.05\n",
                "/sys/kernel/mm/memory_peers/nv_mem/version": "580.95.05\n",
                RELEASE: "5.15.0-119-generic\n",
            },
            PeerMemory(loaded=True, clients=("nv_mem",), kernel=(5, 15)),
        ),
        ({RELEASE: "4.18.0-513.el8\n"}, PeerMemory(kernel=(4, 18))),
        ({"/sys/module/nv_peer_mem/refcnt": "0\n"}, PeerMemory(loaded=True)),
        ({}, PeerMemory()),
    ],
)
def test_seen(files: dict[str, str], expected: PeerMemory, tmp_path: Path) -> None:
    """Module, accepted clients and kernel are told apart: one does not prove the other."""
    assert expected == asyncio.run(collect(recorded(tmp_path, files=files), Wanted()))


async def test_live() -> None:
    """This machine's kernel is told."""
    node = Live()
    try:
        got = await collect(node, Wanted())
    finally:
        await node.close()
    assert isinstance(got, PeerMemory)
    assert (True, True) == (got.kernel is not None, (got.kernel or (0, 0))[0] > 1)


@given(st.text(max_size=40))
def test_any_release_is_read_without_an_error(text: str) -> None:
    """A kernel of an odd name has no number, or two."""
    assert release(text) is None or text[0].isdigit()
