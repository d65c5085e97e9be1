"""A call of the driver that does not return is named by the process that hangs in it."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from collectors.helpers.children import nvml_watch
from collectors.helpers.children.nvml_watch import CALL_S, START_S, Watch
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child

ARGV = (sys.executable, "-I", "-m", "collectors.helpers.children.nvml", "--scenario")
# Made here: reading a model's file would block the loop of the tests below.
HANGS = plan(
    read(
        'model = "l40s"\ncount = 2\n[gpu.1.call.nvmlDeviceGetPowerUsage]\nblocks_s = -1\n',
        "hangs.toml",
    )
)
# Says that it hangs, and does not leave when it is asked to.
STUBBORN = """
import json, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    print(json.dumps({"missing": "timeout", "detail": "late", "stuck": "nvmlX"}), flush=True)
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def _clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(nvml_watch, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.mark.parametrize(
    ("function", "limit_s"),
    [
        ("nvmlDeviceGetPowerUsage", CALL_S),
        ("nvmlInitWithFlags", START_S),
        ("nvmlDeviceGetHandleByIndex_v2", START_S),
    ],
)
def test_a_call_is_late_after_its_limit(function: str, limit_s: float, clock: Clock) -> None:
    """What initialises a GPU may take seconds, anything else may not."""
    watch = Watch(print)
    with watch.answering():
        watch.gpu = "0000:4e:00.0"
        watch.enters(function)
        clock.now += limit_s - 0.1
        before = watch.stuck()
        clock.now += 0.2
        after = watch.stuck()

    assert (None, (f"{function} of GPU 0000:4e:00.0", limit_s)) == (before, after)


def test_nothing_is_late_between_questions(clock: Clock) -> None:
    """A helper that waits for its next question hangs in no call."""
    watch = Watch(print)
    with watch.answering():
        watch.enters("nvmlSystemGetDriverVersion")
    clock.now += 3600.0

    assert watch.stuck() is None


def test_a_call_of_the_whole_driver_names_no_gpu(clock: Clock) -> None:
    """Where the last question ended at a GPU, the next one starts without it."""
    watch = Watch(print)
    with watch.answering():
        watch.gpu = "0000:4e:00.0"
    with watch.answering():
        watch.enters("nvmlInitWithFlags")
        clock.now += START_S
        late = watch.stuck()

    assert ("nvmlInitWithFlags", START_S) == late


async def where(pid: int) -> str:
    """Return where a process stands, as the node would."""
    return f"pid {'known' if pid > 1 else pid}, state S"


async def test_the_helper_is_told_and_let_go(tmp_path: Path) -> None:
    """Function and GPU stand in the answer long before its deadline; the helper is gone after."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(HANGS))
    helper = Helper("nvml", partial(Child.start, (*ARGV, str(path))), where)
    got = await helper.ask("nvml_health", deadline_s=30.0)
    await helper.close()

    call = "nvmlDeviceGetPowerUsage of GPU 0001:11:00.0"
    expected = Missing(
        what="nvml_health of nvml",
        cause=Cause.TIMEOUT,
        detail=f"{call} did not return in 3 s",
        stuck=f"{call}; pid known, state S",
    )
    assert (expected, 0) == (got, helper.stuck)


async def test_one_that_does_not_leave_is_counted() -> None:
    """The next question gets a new helper, and after two that stay nobody is started."""
    pids: list[int] = []

    async def start() -> Child:
        child = await Child.start((sys.executable, "-c", STUBBORN))
        pids.append(child.pid or 0)
        return child

    helper = Helper("nvml", start)
    first = await helper.ask("nvml", deadline_s=10.0)
    second = await helper.ask("nvml", deadline_s=10.0)
    third = await helper.ask("nvml", deadline_s=10.0)
    stuck = helper.stuck
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    await helper.close()

    details = [got.detail for got in (first, second, third)]
    assert (["late", "late", "2 helpers are stuck in the kernel already"], 2, 2) == (
        details,
        stuck,
        len(pids),
    )
