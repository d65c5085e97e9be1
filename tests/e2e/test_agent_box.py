"""The units in a whole systemd of their own: started, reloaded, killed by the watchdog, stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.boxes import shown

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("systemd-nspawn", "unshare"),
    pytest.mark.timeout(240),
]


def status(path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(path.read_text())
    return answer


def test_it_starts_and_walks(box: Path) -> None:
    """READY reached systemd, the status line is the walk's, and nothing was restarted."""
    seen = shown(box / "started")

    assert ("active", True, "0") == (
        seen["ActiveState"],
        "walk 1 took" in seen["StatusText"],
        seen["NRestarts"],
    )


def test_the_sandbox_blinds_no_check_and_raises_no_alarm(box: Path) -> None:
    """Inside its unit nothing is found that is not there; only the box's own lack is unseen."""
    findings = status(box / "status.json")["diagnosis"]["findings"]
    unseen = {f["check"] for f in findings if "/dev/kmsg is not shown to this" in f["message"]}
    # The tools of these tests were put in today, and the machine may have been started today: the
    # box has the machine's packages and time.
    lately = ("software_changed", "node_changed")
    unseen |= {f["check"] for f in findings if f["fault"] in lately}

    assert [] == [
        f["message"] for f in findings if f["severity"] != "info" or f["check"] not in unseen
    ]


def test_it_reloads(box: Path) -> None:
    """systemctl reload ends well, and the process stays."""
    before, after = shown(box / "started"), shown(box / "after_reload")

    assert ("reloaded\n", before["MainPID"], "settings read") == (
        (box / "reload").read_text(),
        after["MainPID"],
        after["StatusText"],
    )


def test_a_loop_that_stands_still_is_killed_and_its_cause_kept(box: Path) -> None:
    """R27: without walks the watchdog ends it; the next run runs, and says how and where."""
    again, journal = status(box / "again.json")["agent"], (box / "journal").read_text()
    seen = shown(box / "restarted")

    assert ("1", "active", True, True, True) == (
        seen["NRestarts"],
        seen["ActiveState"],
        "no walk was finished within WatchdogSec (watchdog" in again["ended_before"],
        "Failed with result 'watchdog'" in journal,
        "Fatal Python error: Aborted" in journal,
    )


def test_it_stops_in_time_with_frozen_helpers(box: Path) -> None:
    """With every helper stopped by a signal, systemctl stop takes under 5 s and ends well."""
    seen = shown(box / "stopped")

    assert ("inactive", "success", True) == (
        seen["ActiveState"],
        seen["Result"],
        int((box / "stop_ms").read_text()) < 5000,
    )


def test_the_reader_s_socket_stays(box: Path) -> None:
    """The agent's end takes its own socket away, and not the reader's beside it."""
    left = (box / "sockets").read_text().split()

    assert ["reader.sock"] == [name for name in left if name.endswith(".sock")]
