"""Mounts: the tables, who is asked, and what stands for an answer that does not come."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import mounts
from collectors.host.mounts import Mounts, Room
from collectors.node.recorded import Recorded
from tests.recording import recorded

TABLE = r"""
21 27 0:20 / /proc rw,nosuid shared:5 - proc proc rw
27 1 9:0 / / rw,relatime shared:1 - ext4 /dev/md0 rw,errors=remount-ro
28 27 0:31 / /run/user/1000/doc rw shared:9 - fuse.portal portal rw,user_id=1000
30 27 9:127 / /scratch rw,noatime shared:40 - xfs /dev/md127 rw,attr2
31 27 9:127 /models /models ro,noatime shared:41 - xfs /dev/md127 rw,attr2
40 27 0:52 / /data\040sets rw,relatime shared:60 - nfs4 nas-1:/export/data rw,vers=4.2,hard
41 27 0:53 / /home rw,relatime shared:61 - nfs4 nas-1:/export/home rw,vers=4.2,hard
50 27 7:3 / /snap/core20/2501 ro,nodev shared:70 - squashfs /dev/loop3 ro
51 27 0:60 / /dev/shm rw shared:4 - tmpfs tmpfs rw,size=24683652k
52 51 0:61 / /dev/shm rw shared:4 - tmpfs tmpfs rw,size=24683652k
""".strip()
ROOM = {"size_bytes": 1000, "free_bytes": 400, "inodes": 10, "inodes_free": 4}


def on(device: str) -> dict[str, Any]:
    return {**ROOM, "device": device}


def answers(**network: dict[str, Any]) -> list[dict[str, Any]]:
    local = ["/", "/dev/shm", "/scratch"]
    return [
        {
            "kind": "statfs_local",
            "args": {"points": local},
            "answer": [on("9:0"), on("0:61"), on("9:127")],
        },
        {"kind": "statfs", "args": {"point": "/data sets"}, **network.get("data", {})},
        {"kind": "statfs", "args": {"point": "/home"}, **network.get("home", {})},
    ]


def collected(recording: Recorded) -> Mounts:
    """Collect from a recording, which is opened before the loop runs, as the commands do."""
    seen = asyncio.run(mounts.collect(recording, Wanted()))
    assert isinstance(seen, Mounts)
    return seen


def node(tmp_path: Path, **network: dict[str, Any]) -> Recorded:
    files = {"/proc/1/mountinfo": TABLE, "/etc/fstab": "UUID=1 / ext4 defaults 0 1\n"}
    return recorded(tmp_path, files=files, answers=answers(**network))


def test_each_file_system_is_asked_once(tmp_path: Path) -> None:
    """Binds, pseudo file systems, snaps, sessions and covered mounts ask nothing of their own."""
    seen = collected(node(tmp_path, data={"answer": on("0:52")}, home={"answer": on("0:53")}))
    expected = [
        ("/", (), False, Room(**ROOM)),
        ("/data sets", (), True, Room(**ROOM)),
        ("/dev/shm", (), False, Room(**ROOM)),
        ("/home", (), True, Room(**ROOM)),
        ("/scratch", ("/models",), False, Room(**ROOM)),
    ]

    assert expected == [(m.point, m.others, m.network, m.room) for m in seen.mounts]
    assert {"/": ("defaults",)} == seen.fstab


def test_dead_servers_wait_side_by_side(tmp_path: Path) -> None:
    """Two mounts that do not answer cost one deadline, and say where their calls stand."""
    stuck = {"cause": "timeout", "detail": "no answer in 2 s", "stuck": "pid 9, state D, in rpc"}
    recording = node(
        tmp_path,
        data={"missing": stuck, "seconds": 2.0},
        home={"missing": stuck, "seconds": 2.0},
    )
    seen = collected(recording)
    expected = {
        "/data sets": ("timeout", "pid 9, state D, in rpc"),
        "/home": ("timeout", "pid 9, state D, in rpc"),
    }

    assert expected == {
        m.point: (m.missing.cause, m.missing.stuck) for m in seen.mounts if m.missing
    }
    assert recording.monotonic() == pytest.approx(2.0)


def test_a_slow_start_gets_a_second_chance(tmp_path: Path) -> None:
    """A helper that was late without standing in the kernel is asked again, with more time."""
    recording = node(
        tmp_path,
        data={"answer": on("0:52"), "seconds": 3.5},
        home={"answer": on("0:53")},
    )
    seen = collected(recording)

    assert all(mount.room is not None for mount in seen.mounts)


def test_a_stalled_local_one_is_told_from_the_others(tmp_path: Path) -> None:
    """All local mounts are one question; when it does not come back, each is asked on its own."""
    table = "\n".join(line for line in TABLE.splitlines() if "nfs4" not in line)
    missing = {"cause": "timeout", "detail": "no answer in 2 s", "stuck": "pid 9, state D, in x"}
    recording = recorded(
        tmp_path,
        files={"/proc/self/mountinfo": table},
        answers=[
            {
                "kind": "statfs_local",
                "args": {"points": ["/", "/dev/shm", "/scratch"]},
                "missing": missing,
            },
            {"kind": "statfs", "args": {"point": "/"}, "answer": on("9:0")},
            {"kind": "statfs", "args": {"point": "/dev/shm"}, "answer": on("0:61")},
            {"kind": "statfs", "args": {"point": "/scratch"}, "missing": missing},
        ],
    )
    seen = collected(recording)

    assert ["/scratch"] == [mount.point for mount in seen.mounts if mount.missing]


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        ({"errno": "ESTALE"}, ("ESTALE", None)),
        ({"errno": "EACCES"}, (None, "denied")),
        ({"errno": "ENOENT"}, (None, "denied")),
        (on("0:99"), (None, "denied")),
    ],
    ids=["stale", "closed to us and to the reader", "not in our view", "another mount in our view"],
)
def test_answers_that_are_no_room(
    tmp_path: Path, answer: dict[str, Any], rest: tuple[str | None, str | None]
) -> None:
    """An errno stands for itself; what a sandbox hides is unseen, never gone."""
    table = TABLE.replace("shared:60 - nfs4", "- nfs4")
    recording = recorded(
        tmp_path,
        files={"/proc/1/mountinfo": table, "/proc/self/mountinfo": TABLE.splitlines()[1]},
        answers=[
            *answers(data={"answer": answer}, home={"answer": on("0:53")}),
            {
                "kind": "statfs_root",
                "args": {"point": "/data sets"},
                "missing": {"cause": "denied", "detail": "no reader", "verb": "statfs_root"},
            },
        ],
    )
    seen = collected(recording)
    mount = next(m for m in seen.mounts if m.point == "/data sets")

    assert rest == (mount.error, mount.missing and mount.missing.cause)


def test_a_covered_mount_is_nobodys() -> None:
    """What our own table lists and yet does not lie at its point is under another mount."""
    mount = mounts.parse("40 27 8:1 / /mnt/a rw - ext4 /dev/sda1 rw")[0]

    assert mounts.answered(mount, on("8:2"), {"8:1"}) is None


def test_too_many_network_mounts_are_not_all_asked(tmp_path: Path) -> None:
    """Each costs a process; those past the limit are unseen by name."""
    table = "\n".join(f"{n} 1 0:{n} / /n/{n} rw - nfs4 nas-1:/{n} rw" for n in range(100, 140))
    asked = [
        {"kind": "statfs", "args": {"point": f"/n/{n}"}, "answer": on(f"0:{n}")}
        for n in range(100, 132)
    ]
    recording = recorded(tmp_path, files={"/proc/1/mountinfo": table}, answers=asked)
    seen = collected(recording)

    assert [f"/n/{n}" for n in range(132, 140)] == [m.point for m in seen.mounts if m.missing]


def test_no_table_is_missing(tmp_path: Path) -> None:
    """A node without mountinfo is no node without mounts."""
    missing = asyncio.run(mounts.collect(recorded(tmp_path), Wanted()))

    assert isinstance(missing, Missing)


@given(st.text())
def test_any_table_is_read(text: str) -> None:
    """Whatever stands in the tables, reading them does not fail."""
    mounts.judged(mounts.parse(text))
    mounts.fstab(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\0"), min_size=1))
def test_a_point_survives_the_kernels_escapes(name: str) -> None:
    """Space, tab, newline and backslash are written in octal, all else as it is."""
    escaped = name.replace("\\", r"\134") + r"\040\011\012x"
    table = f"40 27 8:1 / /{escaped} rw shared:1 - ext4 /dev/sda1 rw"

    assert [f"/{name} \t\nx"] == [mount.point for mount in mounts.parse(table)]
