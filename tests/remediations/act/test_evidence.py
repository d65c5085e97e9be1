"""The evidence's archives: bounded, whole or not at all, and never the disk's last room."""

import os
import tarfile
from pathlib import Path

import pytest

from remediations.act.evidence import MIB, Bundles


def inside(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {
            Path(member.name).name: file.read()
            for member in archive.getmembers()
            if (file := archive.extractfile(member)) is not None
        }


def test_whole_and_for_root_alone(tmp_path: Path) -> None:
    """An archive has every part, and its owner alone reads it."""
    path = Bundles(tmp_path, leave=0).save("a", [("kernel.log", b"x" * 10), ("ticket.txt", b"y")])
    assert ({"kernel.log": b"x" * 10, "ticket.txt": b"y"}, 0o600) == (
        inside(path),
        path.stat().st_mode & 0o777,
    )


def test_what_is_over_the_cap_is_named(tmp_path: Path) -> None:
    """A part that is over the cap is left out, and said so in it; the others are there."""
    parts = [("small", b"s"), ("huge", b"h" * 2 * MIB), ("last", b"l")]
    found = inside(Bundles(tmp_path, most=MIB, leave=0).save("a", parts))
    assert (["LEFT_OUT", "last", "small"], True) == (
        sorted(found),
        found["LEFT_OUT"].startswith(b"huge: 2097152 bytes"),
    )


def test_a_full_disk(tmp_path: Path) -> None:
    """Where so much would not be left on the disk nothing is written, and it is said."""
    with pytest.raises(OSError, match="has less than"):
        Bundles(tmp_path / "b", leave=1 << 60).save("a", [("x", b"x")])
    assert [] == list((tmp_path / "b").iterdir())


def test_the_oldest_go(tmp_path: Path) -> None:
    """Of many archives the newest are kept."""
    bundles = Bundles(tmp_path, leave=0, kept=3)
    for number in range(6):
        path = bundles.save(f"n{number}", [("x", b"x")])
        stamp = 1_000_000_000 + number
        os.utime(path, (stamp, stamp))
    assert ["n3.tar.gz", "n4.tar.gz", "n5.tar.gz"] == sorted(p.name for p in tmp_path.iterdir())
