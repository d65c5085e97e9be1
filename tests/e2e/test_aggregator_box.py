"""The aggregator's unit in a whole systemd of its own, and a node that joins by one file."""

import json
from pathlib import Path

import pytest

from tests.e2e.boxes import shown

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("systemd-nspawn", "unshare"),
    pytest.mark.timeout(240),
]


def test_it_starts(box: Path) -> None:
    """READY reached systemd with where it listens; folder and database are its user's alone."""
    seen = shown(box / "started")
    owners = [line.rpartition(" ")[0] for line in (box / "owners").read_text().splitlines()]
    assert ("active", "listening on 127.0.0.1:9837", "0") == (
        seen["ActiveState"],
        seen["StatusText"],
        seen["NRestarts"],
    )
    assert ["gpudiag-aggregator 700", "gpudiag-aggregator 600"] == owners


def test_a_node_joins_by_one_file(box: Path) -> None:
    """With nothing but the join file on it an agent enrols and reports; fleet nodes shows it."""
    (node,) = json.loads((box / "nodes.json").read_text())["items"]
    assert (True, True, True) == (
        node["state"] == "ok",
        (box / "page").read_text().startswith("1 nodes: 1 ok"),
        node["node"] in (box / "page").read_text(),
    )


def test_it_reloads(box: Path) -> None:
    """systemctl reload ends well, and the process stays."""
    before, after = shown(box / "started"), shown(box / "after_reload")
    assert ("reloaded\n", before["MainPID"]) == ((box / "reload").read_text(), after["MainPID"])


def test_killed_it_comes_again(box: Path) -> None:
    """After kill -9 it is started again, and answers who has a credential from before."""
    seen = shown(box / "restarted")
    assert ("active", "1", "") == (
        seen["ActiveState"],
        seen["NRestarts"],
        (box / "nodes.err").read_text(),
    )


def test_it_stops_in_time(box: Path) -> None:
    """systemctl stop takes under 5 s and ends well; its log has no trace."""
    seen, journal = shown(box / "stopped"), (box / "journal").read_text()
    assert ("inactive", "success", True, False) == (
        seen["ActiveState"],
        seen["Result"],
        int((box / "stop_ms").read_text()) < 5000,
        "Traceback" in journal,
    )
