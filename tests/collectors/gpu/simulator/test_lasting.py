"""What lasts of a GPU is asked every 10 min; the snapshot between is the same, for fewer calls."""

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.gpu.simulator.library import Simulator
from collectors.helpers.children.nvml import COME_BYTES, LISTED_S, Processes, Session
from collectors.helpers.children.nvml_lasting import LASTS_S, Lasting
from collectors.helpers.children.nvml_watch import Watch
from tests.collectors.gpu.simulator.simulated import Simulated

B200 = 'model = "b200"\ncount = 8\n'
VBIOS, FIELDS = "nvmlDeviceGetVbiosVersion", "nvmlDeviceGetFieldValues"
STATE, REMOTE = "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemoteDeviceType"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def session(clock: Clock) -> Session:
    made = Session(Watch(lambda line: line))
    made.lasting = Lasting(clock)
    return made


def calls(simulator: Simulator, ask: Any) -> tuple[dict[str, Any], Counter[str]]:
    """Return an answer and how often each function of the library was called for it."""
    made, inner = Counter[str](), simulator.answer

    def counted(name: str, function: Any, arguments: tuple[Any, ...]) -> int:
        made[name] += 1
        return inner(name, function, arguments)

    simulator.answer = counted  # type: ignore[method-assign]  # it counts, and answers as before
    answer = ask()
    simulator.answer = inner  # type: ignore[method-assign]  # back again
    return answer, made


@pytest.mark.parametrize("model", ["a100-sxm4-40", "h100-sxm", "b200", "gb200", "l40s", "t4"])
def test_the_second_answer_is_the_first_one_for_fewer_calls(
    model: str, simulated: Simulated
) -> None:
    """Nothing is left out of a snapshot for which half of the functions were not asked."""
    simulator = simulated(f'model = "{model}"\ncount = 8\n')
    one = session(Clock())
    whole, first = calls(simulator, one.nvml_health)
    again, second = calls(simulator, one.nvml_health)

    assert (whole, True) == (again, second.total() < 0.6 * first.total())


def test_a_snapshot_of_eight_b200_costs_few_calls(simulated: Simulated) -> None:
    """18 links of each GPU cost one call, not 18; a later snapshot takes under 40 calls a GPU."""
    simulator = simulated(B200)
    one = session(Clock())
    _, first = calls(simulator, one.nvml_health)
    _, second = calls(simulator, one.nvml_health)

    assert ((0, 16, 144), (0, 16, 0, 0), True) == (
        (first[STATE], first[FIELDS], first[REMOTE]),
        (second[STATE], second[FIELDS], second[REMOTE], second[VBIOS]),
        second.total() < 8 * 40,
    )


def test_it_is_asked_again_after_ten_minutes_and_when_nvml_was_closed(
    simulated: Simulated,
) -> None:
    """An exchanged VBIOS is seen within 10 min, and at once where the driver was let go of."""
    simulator, clock = simulated(B200), Clock()
    one = session(clock)
    asked = []
    for seconds in (0.0, LASTS_S - 1, LASTS_S, LASTS_S + 10):
        clock.now = seconds
        asked.append(calls(simulator, one.nvml_health)[1][VBIOS])
    one.rest()
    asked.append(calls(simulator, one.nvml_health)[1][VBIOS])

    assert [8, 0, 8, 0, 8] == asked


def test_what_stands_is_asked_at_every_third_look(simulated: Simulated) -> None:
    """Remapped rows are seen within 30 s; counters of errors are read at each look."""
    rows, errors = "nvmlDeviceGetRemappedRows", "nvmlDeviceGetTotalEccErrors"
    remapped = "[[step]]\nat_s = 600\n[step.gpu.2.remap]\npending = 1\n"
    simulator, clock = simulated(f"{B200}{remapped}"), Clock()
    one = session(clock)
    made, pending = [], []
    for seconds in (0.0, 10.0, 20.0, 30.0, 40.0):
        clock.now = seconds
        answer, asked = calls(simulator, one.nvml_health)
        made.append((asked[rows], asked[errors]))
        pending.append(answer["gpus"][2]["remap"]["pending"])
        simulator.origin_s = time.monotonic() - 600.0

    assert (
        [(8, 32), (0, 32), (0, 32), (8, 32), (0, 32)],
        [False, False, False, True, True],
    ) == (made, pending)


def test_what_failed_for_once_is_asked_again(simulated: Simulated) -> None:
    """An unknown error of one GPU is not kept for 10 min; what a product has not is."""
    simulator = simulated(f"{B200}[gpu.3.call.{VBIOS}]\nreturns = 999\n")
    one = session(Clock())
    whole, _ = calls(simulator, one.nvml_health)
    again, second = calls(simulator, one.nvml_health)

    assert (999, 1, whole) == (again["gpus"][3]["failed"]["vbios"], second[VBIOS], again)


def test_a_driver_without_the_field_is_asked_link_by_link(simulated: Simulated) -> None:
    """Where the state of one link does not come with the fields, its own call tells it."""
    simulator = simulated(
        f"{B200}[gpu.3.field.165]\nreturns = 2\n[gpu.3.nvlink.link.4]\nactive = false\n"
    )
    answer, made = calls(simulator, session(Clock()).nvml_health)
    links = answer["gpus"][3]["nvlink"]["links"]

    assert (18, [4]) == (made[STATE], [link["link"] for link in links if not link["active"]])


LIST = "nvmlDeviceGetComputeRunningProcesses_v3"
JOB = "[[gpu.0.process]]\npid = 4711\nused_bytes = 71_000_000_000\n"


def test_processes_are_listed_every_30_s_at_most(simulated: Simulated) -> None:
    """The driver stops all its users for a list; asked every 10 s, it gives one in three."""
    simulator, clock = simulated(f'model = "h100-sxm"\ncount = 2\n{JOB}'), Clock()
    one = session(clock)
    one.processes = Processes(clock)
    made, told = [], set()
    for seconds in (0.0, 1.0, 10.0, 11.0, 20.0, 21.0, 30.0, 31.0):
        clock.now = seconds
        answer, asked = calls(simulator, one.nvml)
        made.append(asked[LIST] > 0)
        told.add(tuple(process["pid"] for process in answer["gpus"][0]["processes"]))

    assert ([True, *[False] * 5, True, False], {(4711,)}) == (made, told)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1 << 37)), max_size=20))
def test_a_list_is_never_old_and_never_empty_of_one_who_came(
    looks: list[tuple[int, int]],
) -> None:
    """Within 30 s what is told was true; with memory taken since, "nobody" is asked again."""
    clock, asked, before = Clock(), list[float](), 0
    processes = Processes(clock)

    def ask() -> list[object]:
        asked.append(clock.now)
        return []

    for after, used in looks:
        clock.now += after
        asked_now = len(asked)
        processes.of("0000:1c:00.0", used, ask)
        new = len(asked) > asked_now
        assert new or (clock.now - asked[-1] < LISTED_S and used - before <= COME_BYTES)
        before = used if new else before


def test_a_list_that_failed_is_asked_again(simulated: Simulated) -> None:
    """What could not be listed is unknown, with its code, each time."""
    simulator = simulated(f'model = "h100-sxm"\ncount = 1\n[gpu.0.call.{LIST}]\nreturns = 999\n')
    one = session(Clock())
    told = [calls(simulator, one.nvml)[0]["gpus"][0] for _ in range(2)]

    assert [(None, 999)] * 2 == [(gpu["processes"], gpu["failed"]["processes"]) for gpu in told]


def test_who_a_gpu_is_is_not_asked_with_its_use_each_time(simulated: Simulated) -> None:
    """Name, serial number and MIG at every third look; memory, use and the address at each."""
    simulator, clock = simulated(B200), Clock()
    one = session(clock)
    answers, made = [], []
    for seconds in (0.0, 10.0, 20.0, 30.0):
        clock.now = seconds
        answer, asked = calls(simulator, one.nvml)
        answers.append(answer)
        made.append((asked["nvmlDeviceGetSerial"], asked["nvmlDeviceGetMigMode"], asked.total()))
    one.rest()

    assert ([(8, 8), (0, 0), (0, 0), (8, 8)], [answers[0]] * 4, True) == (
        [row[:2] for row in made],
        answers,
        made[1][2] < 0.6 * made[0][2],
    )
