"""The driver's helper on the simulated library: the same process, verbs and deadlines as live."""

import json
import time
from functools import partial
from pathlib import Path
from sys import executable
from typing import Any

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.gpu.simulator import library
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child
from tests.collectors.gpu.simulator.simulated import planned

H100 = 'model = "h100-sxm"\n'
ARGV = (executable, "-I", "-m", "collectors.helpers.children.nvml", "--scenario")
HANGS = (
    "[gpu.4.call.nvmlDeviceGetMemoryInfo_v2]\nblocks_s = -1\n"
    "[[step]]\nat_s = 1000\n[step.gpu.4.call.nvmlDeviceGetMemoryInfo_v2]\nblocks_s = 0\n"
)


INIT = (9, 12, 18, 999)
# Made here: reading a model's file would block the loop of the tests below.
WELL, LOST, HANGING = (planned(H100 + text) for text in ("", "[gpu.3]\nlost = true", HANGS))
UNSTARTED = {code: planned(H100 + f"[call.nvmlInitWithFlags]\nreturns = {code}") for code in INIT}


def helper(tmp_path: Path, plan: dict[str, Any], origin_s: float | None = None) -> Helper:
    """Return the driver's helper with a plan under it."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**plan, "origin_s": origin_s}))
    return Helper("nvml", partial(Child.start, (*ARGV, str(path))))


async def ask(one: Helper, deadline_s: float = 20.0, **args: Any) -> Any:
    return await one.ask("nvml", deadline_s=deadline_s, **args)


async def test_a_lost_gpu_among_seven(tmp_path: Path) -> None:
    """The helper tells seven GPUs, and of the lost one its code alone."""
    one = helper(tmp_path, LOST)
    answer = await ask(one)
    await one.close()
    names = [gpu.get("name") for gpu in answer["gpus"]]
    expected = [None if index == 3 else "NVIDIA H100 80GB HBM3" for index in range(8)]
    assert (expected, {"index": 3, "error": 15}) == (names, answer["gpus"][3])


async def test_gpus_asked_by_their_addresses(tmp_path: Path) -> None:
    """With *only*, NVML's index and all values come, and the others' handles are not asked for."""
    one = helper(tmp_path, LOST)
    pci = [gpu["pci"] for gpu in (await ask(one))["gpus"] if "pci" in gpu]
    answer = await ask(one, only=pci[3:5])
    await one.close()
    expected = [(4, pci[3]), (5, pci[4])]
    assert expected == [(gpu["index"], gpu["pci"]) for gpu in answer["gpus"]]


@pytest.mark.parametrize("number", INIT)
async def test_init_errors(number: int, tmp_path: Path) -> None:
    """Each way of not starting comes with its code and the library's version."""
    one = helper(tmp_path, UNSTARTED[number])
    answer = await ask(one)
    await one.close()
    assert {"init_error": number, "nvml": "13.580.105.08"} == answer


async def test_a_hung_call_costs_its_deadline(tmp_path: Path) -> None:
    """The hung helper is let go of; the next one goes on in the scenario where this one stood."""
    one = helper(tmp_path, HANGING, time.monotonic())
    hung = await ask(one, 2.0)
    # The step that ends the block lies 1000 s on: another origin stands for waiting that long.
    after = helper(tmp_path, HANGING, time.monotonic() - 1000)
    answer = await ask(after)
    await one.close()
    await after.close()
    assert isinstance(hung, Missing)
    assert (Cause.TIMEOUT, 8) == (hung.cause, len(answer["gpus"]))


def test_a_call_that_crashes_is_no_answer() -> None:
    """A verb that made a call which no program may make raises, whatever it would have said."""
    simulator = library.Simulator(WELL)

    def misuse() -> int:
        simulator.errors.append("nvmlDeviceGetName was given a NULL handle")
        return 7

    with pytest.raises(RuntimeError) as raised:
        simulator.watched(misuse)()
    assert "nvmlDeviceGetName was given a NULL handle" == str(raised.value)
