"""Open files of the system."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import descriptors
from collectors.host.descriptors import PATH, FileDescriptors
from collectors.node.live import Live
from tests.recording import recorded


def test_the_kernels_counts(tmp_path: Path) -> None:
    """In use, and the most there can be; the number between them is always 0."""
    line = "21984\t0\t9223372036854775807"
    expected = FileDescriptors(used=21984, most=9223372036854775807, text=line)

    got = asyncio.run(descriptors.collect(recorded(tmp_path, files={PATH: line + "\n"}), Wanted()))
    assert expected == got


def test_no_counts_are_missing(tmp_path: Path) -> None:
    """An absent file is not "none open"."""
    got = asyncio.run(descriptors.collect(recorded(tmp_path), Wanted()))

    assert isinstance(got, Missing)


async def test_this_machine() -> None:
    """A real kernel's count is understood."""
    node = Live()
    seen = await descriptors.collect(node, Wanted())
    await node.close()
    assert isinstance(seen, FileDescriptors)

    assert 0 < seen.used < seen.most


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail."""
    descriptors.parse(text)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_counts_come_back(used: int, most: int) -> None:
    """What the kernel prints is what is read."""
    got = descriptors.parse(f"{used}\t0\t{most}\n")

    assert got is not None
    assert (used, most) == (got.used, got.most)
