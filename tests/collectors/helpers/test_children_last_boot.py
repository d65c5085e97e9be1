"""The verbs about the boot before, on real files, real journals and wtmp's own records."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import kernel, last_boot
from tests.collectors.helpers import journal


def put(root: Path, path: str, text: str, mtime: float) -> None:
    """Write one file of a tree that stands for a node's root."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    os.utime(target, (mtime, mtime))


def test_what_panics_leave_is_found(tmp_path: Path) -> None:
    """pstore, systemd's archive of it and kdump's text, each with its time; folders are none."""
    put(tmp_path, "/sys/fs/pstore/dmesg-erst-7", "Panic#1 Part1\n", 50.0)
    put(tmp_path, "/var/lib/systemd/pstore/176460031/dmesg.txt", "a panic\n", 40.0)
    put(tmp_path, "/var/crash/202611300211/vmcore-dmesg.txt", "x" * 99_999 + "END", 30.0)
    put(tmp_path, "/var/crash/202611300211/vmcore", "ELF", 30.0)
    put(tmp_path, "/etc/secret", "secret", 1.0)
    (tmp_path / "var/crash/linked").mkdir()
    (tmp_path / "var/crash/linked/dmesg.1").symlink_to("/etc/secret")
    (tmp_path / "var/crash/linked/dmesg.2").symlink_to("../../../etc/secret")
    found = last_boot.pstore(str(tmp_path))["files"]
    expected = [
        ("/sys/fs/pstore/dmesg-erst-7", 50.0, "Part1\n"),
        ("/var/lib/systemd/pstore/176460031/dmesg.txt", 40.0, "panic\n"),
        ("/var/crash/202611300211/vmcore-dmesg.txt", 30.0, "xxxEND"),
    ]

    assert expected == [(f["path"], f["mtime"], f["text"][-6:]) for f in found]
    assert last_boot.TAIL == max(len(f["text"]) for f in found)


@pytest.mark.root
def test_what_a_user_put_there_is_no_panic(tmp_path: Path) -> None:
    """/var/crash can be open to all; only root's files are the kernel's words."""
    put(tmp_path, "/var/crash/202611300211/dmesg.202611300211", "Kernel panic", 30.0)
    os.chown(tmp_path / "var/crash/202611300211/dmesg.202611300211", 1000, 1000)

    assert {"files": []} == last_boot.pstore(str(tmp_path))


def test_files_without_end_cost_their_cap(tmp_path: Path) -> None:
    """A folder full of dumps is read up to a megabyte, the newest names first."""
    for number in range(100):
        put(tmp_path, f"/sys/fs/pstore/dmesg-{number:03}", "x" * 20_000, 1.0)
    found = last_boot.pstore(str(tmp_path))["files"]
    size = sum(len(f["text"]) for f in found)

    assert ("/sys/fs/pstore/dmesg-099", True) == (found[0]["path"], size <= last_boot.MOST_BYTES)


SERVICE = {"_TRANSPORT": "journal", "_UID": "0"}
ASKED = {**SERVICE, "_COMM": "systemd-logind", "MESSAGE": "System is rebooting."}
USER = {**SERVICE, "_UID": "1000", "_COMM": "systemd", "MESSAGE": "Shutting down."}
LAST = {**journal.KERNEL, "MESSAGE": "nvme nvme0: I/O tag 12 QID 3 timeout, reset controller"}


@pytest.mark.tool("journalctl", journal.REMOTE)
@pytest.mark.parametrize(
    ("ends", "shutdown"),
    [
        ([LAST, ASKED], "System is rebooting."),
        (
            [LAST, {**SERVICE, "_TRANSPORT": "driver", "MESSAGE": "Journal stopped"}],
            "Journal stopped",
        ),
        ([USER, LAST], None),
        ([{**ASKED, "_COMM": "python3"}, LAST], None),
    ],
)
def test_how_a_journal_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: list[dict[str, str]],
    shutdown: str | None,
) -> None:
    """The machine's own services announce a shutdown; a user's, or a job's words, are none."""
    entries: list[journal.Entry] = [
        (journal.BEFORE, 1000.0 + n, fields) for n, fields in enumerate(ends)
    ]
    entries.append((kernel.boot_id(), 2000.0, {**journal.KERNEL, "MESSAGE": "Linux version"}))
    journal.keep(tmp_path, monkeypatch, entries)
    monkeypatch.setattr(last_boot, "WTMP", str(tmp_path / "none"))
    expected = {
        "journal": {
            "boot_id": journal.BEFORE,
            "ended": 1001.0,
            "shutdown": shutdown,
            "kernel": [LAST["MESSAGE"]],
        },
        "wtmp": None,
    }

    assert expected == last_boot.boot_before()


@pytest.mark.tool("journalctl", journal.REMOTE)
def test_a_journal_without_this_boot_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where this boot is not kept, the last one that is kept need not be the one before."""
    journal.keep(tmp_path, monkeypatch, [(journal.BEFORE, 1000.0, LAST)])

    assert None is last_boot.boot_before()["journal"]


def entry(kind: int, user: str, seconds: int) -> bytes:
    """Return one record of wtmp as this machine's C library lays it out."""
    return last_boot.UTMP.pack(
        kind, 0, b"~", b"~~", user.encode(), b"6.8.0", 0, 0, 0, seconds, 0, b"", b""
    )


def test_boots_and_shutdowns_of_wtmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log-ins and changes of runlevel are no boots; a record that was cut is left out."""
    raw = b"".join(
        (
            entry(2, "reboot", 100),
            entry(1, "runlevel", 101),
            entry(7, "reboot", 102),
            entry(1, "shutdown", 200),
            entry(2, "reboot", 300),
        )
    )
    (tmp_path / "wtmp").write_bytes(raw + b"\0" * 100)
    monkeypatch.setattr(last_boot, "WTMP", str(tmp_path / "wtmp"))
    monkeypatch.setattr(kernel, "JOURNALCTL", ())
    wtmp: list[dict[str, Any]] = [
        {"what": "boot", "time": 100},
        {"what": "shutdown", "time": 200},
        {"what": "boot", "time": 300},
    ]

    assert {"journal": None, "wtmp": wtmp} == last_boot.boot_before()


@pytest.mark.tool("last")
def test_last_reads_these_records_too(tmp_path: Path) -> None:
    """The records that tests make are those of a real wtmp: util-linux's reader tells the same."""
    raw = entry(2, "reboot", 1_795_990_000) + entry(1, "shutdown", 1_795_991_000)
    (tmp_path / "wtmp").write_bytes(raw)
    argv = ("last", "-x", "--time-format", "iso", "-f", str(tmp_path / "wtmp"))
    ran = subprocess.run(argv, capture_output=True, text=True, check=True, env={"TZ": "UTC"})
    told = [(line.split()[0], line.split()[4]) for line in ran.stdout.splitlines()[:2]]
    expected = [
        ("shutdown", "2026-11-29T22:23:20+00:00"),
        ("reboot", "2026-11-29T22:06:40+00:00"),
    ]

    assert expected == told


@given(st.binary(max_size=2000))
def test_no_journal_line_breaks_the_reader(line: bytes) -> None:
    """Whatever journalctl prints is an entry or none."""
    told = last_boot._entry(line)

    assert told is None or isinstance(told["said"], str)


@given(st.lists(st.binary(min_size=last_boot.UTMP.size, max_size=last_boot.UTMP.size), max_size=4))
def test_no_record_breaks_the_reader(raw: list[bytes]) -> None:
    """Any bytes in whole records are boots, shutdowns or nothing."""
    assert {"boot", "shutdown"} >= {told["what"] for told in last_boot.records(b"".join(raw))}
