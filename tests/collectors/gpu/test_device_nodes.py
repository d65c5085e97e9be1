"""Opening the driver's control node, only where a driver is there to answer."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.device_nodes import DeviceNodes, Rights, collect
from tests.recording import recorded

LIVE = {"/sys/module/nvidia/initstate": "live\n"}
RIGHTS = {"mode": 0o666, "uid": 0, "gid": 0}


@pytest.mark.parametrize(
    ("files", "answer", "expected"),
    [
        ({}, None, DeviceNodes(live=False)),
        ({"/sys/module/nvidia/initstate": "coming\n"}, None, DeviceNodes(live=False)),
        (LIVE, {"error": "EPERM", "user": 991}, DeviceNodes(error="EPERM", user=991)),
        (
            LIVE,
            {"error": None, "user": 0, "nodes": {"/dev/nvidiactl": RIGHTS}},
            DeviceNodes(nodes={"/dev/nvidiactl": Rights(mode=0o666, uid=0, gid=0)}),
        ),
    ],
)
def test_what_opening_it_gave(
    tmp_path: Path, files: dict[str, str], answer: Any, expected: DeviceNodes
) -> None:
    """Without a live module nothing is opened; with one, the errno is handed on."""
    answers = [{"kind": "device_nodes", "answer": answer}] if answer else []

    assert expected == asyncio.run(
        collect(recorded(tmp_path, files=files, answers=answers), Wanted())
    )


def test_an_open_that_hangs_is_missing_with_where_it_stood(tmp_path: Path) -> None:
    """A stalled driver is no answer, and so no fault of the nodes."""
    hung = {"cause": "timeout", "detail": "no answer in 5 s", "stuck": "pid 9, state D, in open"}
    node = recorded(tmp_path, files=LIVE, answers=[{"kind": "device_nodes", "missing": hung}])
    expected = Missing(
        what="device_nodes",
        cause=Cause.TIMEOUT,
        detail="no answer in 5 s",
        stuck="pid 9, state D, in open",
    )

    assert expected == asyncio.run(collect(node, Wanted()))


def test_an_answer_of_another_shape_is_garbled(tmp_path: Path) -> None:
    """A helper of another version does not crash the walk."""
    answers = [{"kind": "device_nodes", "answer": {"nodes": [1]}}]
    got = asyncio.run(collect(recorded(tmp_path, files=LIVE, answers=answers), Wanted()))

    assert isinstance(got, Missing)
    assert got.cause is Cause.GARBLED
