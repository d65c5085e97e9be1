"""The verb `scheduled`: this node's number of GPUs out of the files of the whole cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children.scheduled import KUBELET, registered, scheduled

SLURM = "/etc/slurm/slurm.conf"
NODES = "NodeName=gpu-[001-032] NodeAddr=10.1.0.[1-32] Gres=gpu:h100:8 State=UNKNOWN\n"
UUID = "GPU-6c1d2a60-91c5-4f0e-8f8a-2f3f7d3a5b0"


def checkpoint(*devices: str) -> str:
    """Return a kubelet checkpoint with these devices."""
    data = {"PodDeviceEntries": None, "RegisteredDevices": {"nvidia.com/gpu": list(devices)}}
    return json.dumps({"Data": data, "Checksum": 1533})


def said(tmp_path: Path, files: dict[str, str]) -> dict[str, Any]:
    """Ask below a root with these files, on the node gpu-017."""
    for path, text in {"/etc/hostname": "gpu-017\n", **files}.items():
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return scheduled(str(tmp_path))


def test_slurm_conf(tmp_path: Path) -> None:
    """The line's number and what it says of resources leave; names and addresses do not."""
    slurm = {"gpus": 8, "path": SLURM, "line": 2, "text": "Gres=gpu:h100:8"}
    expected: dict[str, Any] = {"slurm": slurm, "kubernetes": None, "refused": []}
    assert expected == said(tmp_path, {SLURM: "ClusterName=west\n" + NODES})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {SLURM: "Include nodes.conf\n", "/etc/slurm/nodes.conf": NODES},
            "/etc/slurm/nodes.conf",
        ),
        (
            {SLURM: "include /etc/slurm/nodes.conf\n", "/etc/slurm/nodes.conf": NODES},
            "/etc/slurm/nodes.conf",
        ),
        ({"/run/slurm/conf/slurm.conf": NODES}, "/run/slurm/conf/slurm.conf"),
        ({SLURM: "ClusterName=a\n", "/run/slurm/conf/slurm.conf": NODES}, None),
        (
            {SLURM: "NodeName=gpu-017\n", "/etc/slurm/gres.conf": "Name=gpu File=/dev/nvidia[0-3]"},
            "/etc/slurm/gres.conf",
        ),
        ({SLURM: "Include slurmdbd.conf\n", "/etc/slurm/slurmdbd.conf": NODES}, None),
        ({SLURM: "Include /srv/nodes.conf\n", "/srv/nodes.conf": NODES}, None),
        ({SLURM: "Include ../nodes.conf\n", "/etc/nodes.conf": NODES}, None),
        ({}, None),
    ],
)
def test_which_file_counts(files: dict[str, str], expected: str | None, tmp_path: Path) -> None:
    """The first folder with a slurm.conf, and what it includes beside it; never a password file."""
    slurm = said(tmp_path, files)["slurm"]
    assert expected == (slurm["path"] if slurm else None)


def test_kubernetes(tmp_path: Path) -> None:
    """Of the kubelet's file the number leaves, and no pod."""
    told = said(tmp_path, {KUBELET: checkpoint(UUID + "1", UUID + "2")})
    assert {"gpus": 2, "path": KUBELET} == told["kubernetes"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder in the place of slurm.conf stands for any refusal: then the number is unknown."""
    (tmp_path / SLURM.lstrip("/")).mkdir(parents=True)
    assert {"slurm": None, "kubernetes": None, "refused": [SLURM]} == said(tmp_path, {})


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([f"{UUID}1::0", f"{UUID}1::1"], 1),
        (["MIG-0d6a1f", UUID + "1"], None),
        ([], None),
    ],
)
def test_registered(devices: list[str], expected: int | None) -> None:
    """A GPU that is shared in time counts once; instances of a divided one are no GPUs."""
    assert expected == registered(checkpoint(*devices))


@given(st.text(max_size=200) | st.recursive(st.text(), st.lists).map(json.dumps))
def test_any_checkpoint_is_read_without_an_error(text: str) -> None:
    """A damaged checkpoint says nothing."""
    assert None is registered(text)
