"""The verbs about file systems and drives."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import storage
from collectors.helpers.children.loop import Refused

GOOD = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 3], "argv": ["smartctl", "--json", "-a"], "exit_status": 0},
    "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
    "model_name": "MODEL 3T84",
    "serial_number": "S0000000000001",
    "smart_status": {"passed": True, "nvme": {"value": 0}},
    "nvme_smart_health_information_log": {"critical_warning": 0, "percentage_used": 2},
}
# What smartctl 7.3 prints for a drive that is not there.
ABSENT = {
    "json_format_version": [1, 0],
    "smartctl": {
        "messages": [
            {
                "string": "Smartctl open device: /dev/nvme9 failed: No such device",
                "severity": "error",
            }
        ],
        "exit_status": 2,
    },
}


def test_room_of_a_folder(tmp_path: Path) -> None:
    """The kernel's numbers in bytes, with the device that lies there."""
    room, seen = os.statvfs(tmp_path), storage.statfs(str(tmp_path))
    device = tmp_path.stat().st_dev

    assert seen["size_bytes"] == room.f_blocks * room.f_frsize
    assert seen["device"] == f"{os.major(device)}:{os.minor(device)}"


def test_a_path_that_is_not_there() -> None:
    """The errno is the answer."""
    expected = [{"errno": "ENOENT"}, {"errno": "ENOTDIR"}]

    assert expected == storage.statfs_local(["/no/such", "/etc/passwd/x"])


def test_root_looks_at_mount_points_only() -> None:
    """The privileged verb takes no path but one that the kernel's table names."""
    assert "size_bytes" in storage.statfs_root("/")
    with pytest.raises(Refused, match="not a mount point"):
        storage.statfs_root("/etc")


@pytest.mark.parametrize(
    "device", ["", "../sda", "nvme0n1", "nvme0 -s off", "-i", "sda\n", "/dev/sda", "nvme٣"]
)
def test_only_drives_can_be_named(device: str) -> None:
    """Nothing that is an option, a path or a partition reaches smartctl."""
    with pytest.raises(Refused, match="not the name of a drive"):
        storage.smart(device)


def test_serial_numbers_stay_here() -> None:
    """Only what is judged is handed on."""
    expected = {key: GOOD[key] for key in GOOD if key in storage.SMART_KEYS and key != "smartctl"}

    assert expected | {"exit_status": 0} == storage.smart_answer(json.dumps(GOOD).encode())


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (json.dumps(ABSENT), "Smartctl open device: /dev/nvme9 failed: No such device"),
        ('{"smartctl": {"exit_status": 4}}', "smartctl ended with status 4"),
        ("[]", "smartctl printed no JSON object"),
        ("smartctl: not found", "smartctl printed no JSON (19 bytes)"),
    ],
)
def test_what_is_no_answer(text: str, detail: str) -> None:
    """The reason is smartctl's own line where it has one."""
    with pytest.raises(Refused) as refused:
        storage.smart_answer(text.encode())

    assert detail == refused.value.detail


@pytest.mark.tool("smartctl")
def test_the_real_smartctl() -> None:
    """The real tool is started, and its complaint about a drive that is not there comes back."""
    with pytest.raises(Refused) as refused:
        storage.smart("nvme999")

    assert refused.value.cause == "crashed"
    assert "/dev/nvme999" in refused.value.detail


def test_without_smartctl(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says which package brings it."""
    monkeypatch.setattr(storage, "SMARTCTL", ("/no/such/smartctl",))
    with pytest.raises(Refused, match="smartmontools") as refused:
        storage.smart("nvme0")

    assert refused.value.cause == "no_tool"


def test_a_smartctl_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended within the verb, before the parent's patience ends."""
    tool = tmp_path / "smartctl"
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setattr(storage, "SMARTCTL", (str(tool),))
    monkeypatch.setattr(storage, "SMART_S", 0.2)
    with pytest.raises(Refused) as refused:
        storage.smart("nvme0")

    assert refused.value.cause == "timeout"


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_any_output_is_read(text: bytes) -> None:
    """Whatever smartctl prints, the verb answers or refuses."""
    got: Any
    try:
        got = storage.smart_answer(text)
    except Refused as no:
        got = {"refused": no.cause}

    assert isinstance(got, dict)
