"""Device files of RDMA devices: what the kernel asks for, and what stands in /dev."""

import asyncio
import os
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.children import rdma
from collectors.network.rdma_nodes import RdmaNode, RdmaNodes, collect
from tests.recording import recorded

DEV = {"/sys/class/infiniband_verbs/uverbs0/dev": "231:192\n"}


def test_wanted_and_there(tmp_path: Path) -> None:
    """The kernel's number of a device, and the file's."""
    answer = [{"name": "uverbs0", "mode": 0o666, "number": "231:192"}]
    node = recorded(tmp_path, files=DEV, answers=[{"kind": "rdma_nodes", "answer": answer}])

    expected = RdmaNodes(
        wanted={"uverbs0": "231:192"},
        nodes=(RdmaNode(name="uverbs0", mode=0o666, number="231:192"),),
    )
    assert expected == asyncio.run(collect(node, Wanted()))


def test_a_node_without_devices_is_not_asked(tmp_path: Path) -> None:
    """Nobody is asked for files that no device needs."""
    assert RdmaNodes() == asyncio.run(collect(recorded(tmp_path), Wanted()))


def test_an_answer_of_another_form_is_not_understood(tmp_path: Path) -> None:
    """It is Missing, and no device is closed for it."""
    node = recorded(tmp_path, files=DEV, answers=[{"kind": "rdma_nodes", "answer": [7]}])
    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Missing)
    assert Cause.GARBLED is seen.cause


@pytest.mark.root
def test_real_device_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mode and number of a character device are told; other files are none."""
    os.mknod(tmp_path / "uverbs0", 0o020600, os.makedev(1, 3))
    (tmp_path / "by-path").mkdir()
    monkeypatch.setattr(rdma, "FOLDER", str(tmp_path))

    assert [{"name": "uverbs0", "mode": 0o600, "number": "1:3"}] == rdma.rdma_nodes()


def test_no_folder_is_no_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /dev/infiniband there are no files, which is an answer."""
    monkeypatch.setattr(rdma, "FOLDER", str(tmp_path / "infiniband"))

    assert [] == rdma.rdma_nodes()
