"""Each model says what a healthy GPU of its kind says, value by value of a capture."""

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from collectors.gpu.simulator import models
from tests.collectors.gpu.simulator import capture, snapshot
from tests.collectors.gpu.simulator.simulated import Simulated

CAPTURES = os.environ.get("GPUDIAG_CAPTURES", "")
CAPTURED = {
    "a100-sxm4-40": "qx-a100.xml",
    "h100-sxm": "qx-h100.xml",
    "b200": "qx-b200.xml",
    "gb200": "qx-gb200.xml",
    "l40s": "qx-l40s.xml",
    "t4": "qx-t4.xml",
}
MIB = 1 << 20
# name, memory in MiB, power limit in W, margin in C, max width, links, histogram max, persistence
STATED: dict[str, tuple[Any, ...]] = {
    "a100-sxm4-40": ("NVIDIA A100-SXM4-40GB", 40960, 400, "error 3", 16, 1, 640, 1),
    "h100-sxm": ("NVIDIA H100 80GB HBM3", 81559, 700, 58, 16, 1, 2560, 1),
    "h200-sxm": ("NVIDIA H200", 143771, 700, 56, 16, 1, 3072, 1),
    "b200": ("NVIDIA B200", 183359, 1000, 49, 16, 1, 3840, 0),
    "gb200": ("NVIDIA GB200", 189471, 1200, 60, 16, 1, 3968, 1),
    "l40s": ("NVIDIA L40S", 46068, 350, 59, 8, "error 3", 192, 1),
    "t4": ("Tesla T4", 15360, 70, "error 3", 8, "error 3", "error 3", 1),
    "rtx-4090": ("NVIDIA GeForce RTX 4090", 24564, 450, 49, 16, "error 3", "error 3", 0),
}


def test_every_model_is_stated_here() -> None:
    """A model without a row below would be a model that nothing looks at."""
    assert models.names("models") == sorted(STATED)


@pytest.mark.parametrize("model", STATED)
def test_stated_values(model: str, simulated: Simulated) -> None:
    """The first GPU of each model answers with the product's own figures."""
    simulated(f'model = "{model}"')
    gpu = snapshot.take()["gpus"][0]
    histogram = gpu["histogram"]

    answered = (
        gpu["name"],
        gpu["memory"]["total"] // MIB,
        gpu["limit"] // 1000,
        gpu["margin"],
        gpu["width"],
        gpu["link.0"],
        histogram["max"] if isinstance(histogram, dict) else histogram,
        gpu["persistence"],
    )
    assert STATED[model] == answered


@pytest.mark.parametrize("model", CAPTURED)
def test_captured_values(model: str, simulated: Simulated) -> None:
    """Each GPU of a capture and the simulated one agree in each value, N/A included."""
    path = Path(CAPTURES) / "nvidia-smi-xml" / CAPTURED[model]
    if not CAPTURES or not path.is_file():
        pytest.skip("set GPUDIAG_CAPTURES to a folder that holds nvidia-smi-xml/")
    # A capture is a file of one's own choice, and expat takes no entities from outside.
    root = ET.parse(path).getroot()  # noqa: S314 - see above
    nodes = root.findall("gpu")
    simulated(f'model = "{model}"\ncount = {len(nodes)}')
    seen = snapshot.take()

    expected = [capture.of_xml(node) for node in nodes]
    answered = [capture.of_nvml(gpu) for gpu in seen["gpus"]]
    assert (root.findtext("driver_version"), expected) == (seen["driver"], answered)


@pytest.mark.parametrize("model", STATED)
def test_identities_differ(model: str, simulated: Simulated) -> None:
    """Of 16 GPUs no two share UUID, address or module: also beyond a model's own positions."""
    simulated(f'model = "{model}"\ncount = 16')
    gpus = snapshot.take()["gpus"]

    keys = [(gpu["uuid"], gpu["pci"]["busId"], gpu["minor"]) for gpu in gpus]
    assert [16, 16, 16] == [len(set(column)) for column in zip(*keys, strict=True)]
