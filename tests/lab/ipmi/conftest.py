"""The simulated BMC as a fixture, and a folder for what helpers keep."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.helpers.children import bmc as verbs
from collectors.helpers.children import tools
from tests.lab.ipmi.bmc import Bmc


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let helpers of this test keep what they know in a folder of its own."""
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def bmc(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bmc]:
    """Run a BMC of this test's own, to which the verbs of this process lead."""
    folder = tmp_path / "bmc"
    folder.mkdir()
    with Bmc(folder) as running:
        monkeypatch.setattr(tools, "given", {"ipmitool": running.tool})
        monkeypatch.setattr(verbs, "_lists", {})
        assert not kept.exists(), "nothing is known of another BMC"
        yield running
