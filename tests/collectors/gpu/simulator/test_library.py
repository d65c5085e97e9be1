"""What is no call of NVML's: symbols, recorded mistakes, lightness, the helper that runs it."""

import ctypes
import json
import time
from pathlib import Path
from subprocess import run
from sys import executable

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from collectors.gpu.simulator import library, models, symbols
from collectors.gpu.simulator.functions import answer
from collectors.gpu.simulator.gpu_table import NvlinkLink
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from tests.collectors.gpu.simulator import snapshot
from tests.collectors.gpu.simulator.simulated import Simulated, planned
from tests.pace import slower, spent

H100 = 'model = "h100-sxm"\n'
IMPORTS = """
import sys
from collectors.gpu.simulator import library
print(sorted({m.partition(".")[0] for m in sys.modules} & {"pydantic", "msgspec", "asyncio"}))
"""


def test_what_a_scenario_may_name_is_what_answers() -> None:
    """The names that scenarios are checked against are the functions there are, no more."""
    assert symbols.FUNCTIONS == set(answer.FUNCTIONS)


def test_the_binding_knows_each_function() -> None:
    """No function answers under a name that the binding never looks up."""
    text = Path(p.__file__).read_text("utf-8")
    unknown = {name for name in answer.FUNCTIONS if f'("{name}")' not in text}
    assert set() == unknown


def test_old_drivers_lack_functions_that_exist() -> None:
    """What a driver's file calls missing is simulated otherwise."""
    named = {name for one in models.names("drivers") for name in models.driver(one).missing}
    assert set() == named - symbols.FUNCTIONS


def test_counters_of_a_link_are_those_that_can_be_written() -> None:
    """Each counter of a link that can be asked for can be stated, and the other way round."""
    asked = {*symbols.LINK_ERRORS, *symbols.PORT_COUNTERS.values(), "active"}
    assert asked == set(NvlinkLink.model_fields)


def test_a_failing_callback_is_recorded_and_unknown() -> None:
    """ctypes would drop the exception: it becomes code 999 and an entry that tests fail by."""
    simulator = library.Simulator(planned(H100))
    simulator.initialised = 1

    def body(_simulator: library.Simulator) -> None:
        raise ZeroDivisionError

    broken = answer.Function((), body, device=False, before_init=False)
    said = simulator.answer("nvmlDeviceGetCount_v2", broken, ())
    assert (999, ["nvmlDeviceGetCount_v2: ZeroDivisionError()"]) == (said, simulator.errors)


def test_it_needs_no_models_of_people() -> None:
    """The helper's side imports neither pydantic nor msgspec nor a loop: it starts in no time."""
    ran = run([executable, "-c", IMPORTS], capture_output=True, text=True, check=True, timeout=60)
    assert "[]\n" == ran.stdout


def test_a_moment_can_be_shared_by_two_helpers() -> None:
    """A helper that replaces a hung one goes on in the scenario where the other stood."""
    made = {**planned(H100), "origin_s": time.monotonic() - 100}
    assert 100 <= library.Simulator(made).elapsed_s() < 160


@pytest.mark.serial
def test_a_snapshot_of_eight_gpus_is_cheap(simulated: Simulated) -> None:
    """Eight GPUs with everything asked cost well under 100 ms of CPU: the simulator is no load."""
    simulated(H100)
    snapshot.take()
    assert spent(snapshot.take) < 0.1 * slower()


def test_small_buffers_are_refused(simulated: Simulated) -> None:
    """Text that does not fit gives INSUFFICIENT_SIZE and writes nothing."""
    simulated(H100)
    buffer = ctypes.create_string_buffer(b"before", 8)
    function = p._nvmlGetFunctionPointer("nvmlDeviceGetName")
    said = function(p.nvmlDeviceGetHandleByIndex(0), buffer, 8)
    assert (7, b"before") == (said, buffer.value)


def test_plans_are_plain_json() -> None:
    """The plan passes through JSON unchanged, damaged text included."""
    made = plan(read(H100 + '[gpu.0]\nserial = { hex = "ff3132" }', "s.toml"), origin_s=1.5)
    assert made == json.loads(json.dumps(made))
