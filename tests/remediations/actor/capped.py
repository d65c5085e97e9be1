"""Two simulated GPUs whose caps an actor's state holds, and the clock that it goes by."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from collectors.gpu.simulator import library
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from collectors.helpers.children.loop import Refused
from remediations.actor import caps, clock
from remediations.actor.registry import Kept
from remediations.policy import Policy, parse

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

GPU, OTHER = "0001:10:00.0", "0001:11:00.0"
SCENARIO = """model = "h100-sxm"
count = 2
[gpu.0]
pci = "00000001:10:00.0"
[gpu.1]
pci = "00000001:11:00.0"
"""
ALLOWED = 'allow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n'
STANDING = f"{ALLOWED}[heat]\nstanding_limit_w = 600\n"
WHY = "0 C are left until it slows down"


class Node:
    """Two simulated GPUs, the actor's state, and its clock."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self.policy: Policy = parse(ALLOWED)
        self.up_s = 10_000.0
        self.boot = "b1"
        monkeypatch.setattr(clock, "up_s", lambda: self.up_s)
        monkeypatch.setattr(clock, "boot_id", lambda: self.boot)
        self._settings = folder / "settings"
        self._simulators: list[Simulator] = []
        self.start()

    def start(self, **gpu: Any) -> None:
        """Let the driver's library start anew; what was set is still set."""
        made = plan(read(SCENARIO, "a test")) | {"settings": str(self._settings)}
        for state in made["states"]:
            state["gpus"][0].update(gpu)
        self._simulators.append(library.install(json.loads(json.dumps(made))))

    @property
    def errors(self) -> list[str]:
        """Return the calls that no program may make."""
        return [error for simulator in self._simulators for error in simulator.errors]

    @property
    def kept(self) -> Kept:
        """Return what the gate gives."""
        return Kept(self.state, self.policy)

    def cap(self, watts: int, gpu: str = GPU) -> dict[str, Any]:
        """Ask for a limit."""
        answer: dict[str, Any] = caps.cap_gpu(self.kept, gpu, watts * 1000, WHY)
        return answer

    def refused(self, watts: int, gpu: str = GPU) -> str:
        """Ask for a limit that is refused; return why."""
        with pytest.raises(Refused) as no:
            self.cap(watts, gpu)
        return no.value.detail

    def watts(self, index: int = 0) -> int:
        """Return the limit in force."""
        pynvml.nvmlInitWithFlags(0)
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        return int(pynvml.nvmlDeviceGetPowerManagementLimit(handle)) // 1000

    def megahertz(self) -> int:
        """Return the clock of the first GPU."""
        pynvml.nvmlInitWithFlags(0)
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        return int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_GRAPHICS))

    def another_sets(self, watts: int) -> None:
        """Let somebody else set the limit of the first GPU."""
        pynvml.nvmlInitWithFlags(0)
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        pynvml.nvmlDeviceSetPowerManagementLimit(handle, watts * 1000)

    def tick(self, seconds: float = 0.0) -> None:
        """Let time pass, and the actor do what is due."""
        self.up_s += seconds
        caps.caps_tick(self.state, self.policy)

    def public(self) -> dict[str, Any]:
        """Return what those see who only look."""
        seen: dict[str, Any] = json.loads((self.state / "public" / "caps.json").read_text())
        return seen

    def journal(self) -> list[dict[str, Any]]:
        """Return what was done to caps, by the actor's journal."""
        path = self.state / "journal.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in map(json.loads, lines) if line["kind"] == "cap"]

    def names(self) -> list[str]:
        """Return what is held."""
        return [one["subject"] for one in caps.caps(self.state)["held"]]


@contextmanager
def simulated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Simulate a node; a call that no program may make fails the test."""
    kept = pynvml.nvmlLib, pynvml._nvmlLib_refcount
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    made = Node(folder, monkeypatch)
    yield made
    pynvml.nvmlLib, pynvml._nvmlLib_refcount = kept
    pynvml._nvmlGetFunctionPointer_cache.clear()
    assert [] == made.errors
