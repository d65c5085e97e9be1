"""The arrays of /proc/mdstat."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import raid
from collectors.host.raid import PATH, Array, RaidArrays
from tests.recording import recorded

MDSTAT = """\
Personalities : [raid0] [raid1] [raid6] [raid5] [raid4]
md0 : active raid1 nvme1n1p2[1](F) nvme0n1p2[0]
      937560064 blocks super 1.2 [2/1] [U_]
      bitmap: 2/7 pages [8KB], 65536KB chunk

md1 : active (auto-read-only) raid5 sdd1[4] sdc1[2] sdb1[1] sda1[0]
      2929890816 blocks super 1.2 level 5, 512k chunk, algorithm 2 [4/3] [UUU_]
      [==>..................]  recovery = 12.6% (123018240/976630272) finish=68.1min speed=2088K

md2 : active raid1 sdf1[1] sde1[0]
      976630272 blocks super 1.2 [2/2] [UU]
        resync=DELAYED

md126 : broken raid0 nvme3n1[1] nvme2n1[0]
      7501211648 blocks super 1.2 512k chunks

md127 : inactive nvme5n1[1](S) nvme4n1[0](S)
      10402 blocks super external:imsm

md_data : inactive nvme6n1[0](S)
      3750605824 blocks super 1.2

unused devices: <none>
"""


def test_arrays_of_every_kind(tmp_path: Path) -> None:
    """Degraded, in recovery, waiting for one, broken, a container, not started."""
    seen = asyncio.run(raid.collect(recorded(tmp_path, files={PATH: MDSTAT}), Wanted()))
    assert isinstance(seen, RaidArrays)
    expected = [
        ("md0", "active", "raid1", 2, 1, ("nvme1n1p2",), None, None),
        ("md1", "active", "raid5", 4, 1, (), "recovery", 12.6),
        ("md2", "active", "raid1", 2, 0, (), "resync", None),
        ("md126", "broken", "raid0", None, 0, (), None, None),
        ("md127", "inactive", None, None, 0, (), None, None),
        ("md_data", "inactive", None, None, 0, (), None, None),
    ]

    def told(a: Array) -> tuple[object, ...]:
        rest = (a.wanted, a.missing, a.failed, a.work, a.work_percent)
        return (a.name, a.state, a.level, *rest)

    assert expected == [told(array) for array in seen.arrays]
    assert ["md127"] == [array.name for array in seen.arrays if array.container]
    assert ("sdd1", "sdc1", "sdb1", "sda1") == seen.arrays[1].members


@pytest.mark.parametrize(
    ("errors", "missing"), [({}, False), ({PATH: "EACCES"}, True)], ids=["no md", "closed"]
)
def test_no_file(tmp_path: Path, errors: dict[str, str], missing: bool) -> None:  # noqa: FBT001 - a case
    """A kernel without md has no arrays; a file that cannot be read is unseen."""
    seen = asyncio.run(raid.collect(recorded(tmp_path, errors=errors), Wanted()))

    assert missing == isinstance(seen, Missing)


@given(st.text(alphabet=st.sampled_from("md0 :activeraid1[]()_U/%=\n~\t9")) | st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail."""
    list(raid.parse(text))


@given(st.lists(st.booleans(), min_size=1, max_size=24))
def test_absent_members_are_counted(up: list[bool]) -> None:
    """Each `_` of the map is one member that is not there."""
    letters = "".join("U" if there else "_" for there in up)
    text = (
        f"md9 : active raid6 sda[0]\n      9 blocks super 1.2 [{len(up)}/{sum(up)}] [{letters}]\n"
    )
    array = next(raid.parse(text))

    assert (len(up), up.count(False)) == (array.wanted, array.missing)
