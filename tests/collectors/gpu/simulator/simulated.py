"""A scenario's text, installed as the helper does it: through the plan as JSON."""

import json
from typing import Any, Protocol

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator import library
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read


class Simulated(Protocol):
    """Install a scenario, and initialise the library unless told not to *start*."""

    def __call__(self, text: str, start: bool = True) -> library.Simulator: ...  # noqa: FBT001, FBT002 - one switch


def planned(text: str) -> dict[str, Any]:
    """Return the plan of a scenario after its way through JSON."""
    answer: dict[str, Any] = json.loads(json.dumps(plan(read(text, "scenario.toml"))))
    return answer


def simulated(text: str, made: list[library.Simulator], *, start: bool) -> library.Simulator:
    """Install and note what was made."""
    simulator = library.install(planned(text))
    made.append(simulator)
    if start:
        pynvml.nvmlInit()
    return simulator


def code(error: BaseException) -> int:
    """Return an NVML error's number: the only part that can be compared."""
    value: int = error.value  # type: ignore[attr-defined]  # NVML errors carry it
    return value
