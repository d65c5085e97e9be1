"""A drained node with simulated GPUs, and stand-ins for the tools that a reset uses."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from collectors.gpu.simulator import library
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from collectors.helpers.children import tools
from remediations.actor import controller, drained, letting_go, resetting, services
from remediations.actor.journal import Journal
from remediations.actor.registry import Turn
from remediations.policy import Policy

STAND_IN = Path(__file__).parent / "stand_in.py"
TOOLS = ("nvidia-smi", "systemctl", "scontrol", "nv-fabricmanager")
OURS = "State=IDLE+DRAIN Reason=gpudiag: gsp_timeout gpu 1 incident 0f [root@2026-11-30T02:11:09]"
PERSISTENCED, FABRIC_MANAGER = "nvidia-persistenced.service", "nvidia-fabricmanager.service"
ID = "a1"


class Resettable:
    """What is there, and what was done to it."""

    def __init__(self, folder: Path, model: str = "h100-sxm", gpus: int = 2) -> None:
        self.folder = folder / "node"
        self.folder.mkdir()
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self.names = [f"0001:{0x10 + n:02x}:00.0" for n in range(gpus)]
        self.put("gpus", json.dumps(self.names))
        self.put("slurm", OURS)
        self.put(f"active-{PERSISTENCED}")
        self.put(f"active-{FABRIC_MANAGER}")
        places = "".join(f'[gpu.{n}]\npci = "0000{at}"\n' for n, at in enumerate(self.names))
        made = plan(read(f'model = "{model}"\ncount = {gpus}\n{places}', "a test"))
        self.put("version", made["system"]["driver"])
        made |= {"settings": str(self.folder / "settings")}
        self.put("plan", json.dumps(made))
        self.simulator = library.install(made)
        tools.given = {name: str(self._tool(name)) for name in TOOLS}
        self.begun("gpu.reset")

    def put(self, name: str, text: str = "") -> None:
        """Let the node be like that."""
        (self.folder / name).write_text(text)

    def _tool(self, name: str) -> Path:
        path = self.folder / name
        argv = f"{sys.executable} -I {STAND_IN} {name} {self.folder}"
        path.write_text(f'#!/bin/sh\nexec {argv} "$@"\n')
        path.chmod(0o755)
        return path

    def begun(self, remedy: str) -> None:
        """Open an action in the journal."""
        line = {"kind": "begin", "id": ID, "remedy": remedy, "at": 1.0}
        Journal(self.state).write(line)

    def turn(self, remedy: str = "gpu.reset", left_s: float = 60.0) -> Turn:
        return Turn(ID, remedy, "gpu 1", Policy(), self.state, 0, left_s)

    def set(self, index: int, **values: Any) -> None:
        """Let somebody have set this on a GPU."""
        path = self.folder / "settings"
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept.setdefault(str(index), {}).update(
            {key.replace("__", "."): value for key, value in values.items()}
        )
        path.write_text(json.dumps(kept))

    def said(self, index: int) -> dict[str, Any]:
        """Return what was set on a GPU."""
        told: dict[str, Any] = json.loads((self.folder / "settings").read_text())[str(index)]
        return told

    def log(self) -> list[str]:
        """Return the calls that changed something."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def resets(self) -> list[str]:
        return [line for line in self.log() if "--gpu-reset" in line]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resettable]:
    """Return two H100 on a node that we drained."""
    yield from installed(tmp_path, monkeypatch)


def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str = "h100-sxm"
) -> Iterator[Resettable]:
    kept = pynvml.nvmlLib, pynvml._nvmlLib_refcount
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setattr(tools, "given", {})
    monkeypatch.setattr(controller, "JITTER_S", 0.0)
    monkeypatch.setattr(drained, "KUBELET", tmp_path / "kubelet")
    monkeypatch.setattr(letting_go, "AGENT", str(tmp_path / "agent.sock"))
    monkeypatch.setattr(resetting, "SET_S", 2.0)
    monkeypatch.setattr(services, "factor", 0.02)
    made = Resettable(tmp_path, model)
    yield made
    pynvml.nvmlLib, pynvml._nvmlLib_refcount = kept
    pynvml._nvmlGetFunctionPointer_cache.clear()
    assert [] == made.simulator.errors
