"""Xid events come through the blocking wait: in time, once, and not from before registration."""

import threading
import time

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from tests.collectors.gpu.simulator import snapshot
from tests.collectors.gpu.simulator.simulated import Simulated

H100 = 'model = "h100-sxm"\n'
XID = p.nvmlEventTypeXidCriticalError


def registered(*gpus: int, types: int = XID) -> p.c_nvmlEventSet_t:
    """Return an event set with these GPUs."""
    events = p.nvmlEventSetCreate()
    for index in gpus:
        p.nvmlDeviceRegisterEvents(p.nvmlDeviceGetHandleByIndex(index), types, events)
    return events


def test_an_event_arrives_at_its_moment(simulated: Simulated) -> None:
    """The wait ends with the event, not at its own end: well within 100 ms of the moment."""
    simulator = simulated(H100 + "[[event]]\nat_s = 0.3\ngpu = 3\nxid = 79")
    events = registered(3)
    data = p.nvmlEventSetWait(events, 10_000)
    late_s = simulator.elapsed_s() - 0.3
    p.nvmlEventSetFree(events)
    seen = (data.eventType, data.eventData, p.nvmlDeviceGetIndex(data.device))
    assert ((XID, 79, 3), True) == (seen, 0 <= late_s < 0.1)


def test_the_idle_wait_times_out(simulated: Simulated) -> None:
    """TIMEOUT after the stated time is the idle path, and no hang."""
    simulated(H100)
    events = registered(0)
    start = time.monotonic()
    answer = snapshot.ask(p.nvmlEventSetWait, events, 150)
    took_s = time.monotonic() - start
    assert ("error 10", True) == (answer, 0.15 <= took_s < 1)


def test_what_was_before_registration_is_not_delivered(simulated: Simulated) -> None:
    """Events are delivered from registration on; others, of other GPUs or types, never."""
    simulator = simulated(
        H100
        + "[[event]]\nat_s = 5\ngpu = 3\nxid = 31\n"
        + "[[event]]\nat_s = 12\ngpu = 4\nxid = 94\n"
        + "[[event]]\nat_s = 13\ngpu = 3\ntype = 0x4000\ndata = 1\n"
        + "[[event]]\nat_s = 14\ngpu = 3\nxid = 79\n"
    )
    simulator.origin_s -= 10
    events = registered(3)
    simulator.origin_s -= 10
    seen = [p.nvmlEventSetWait(events, 0).eventData, snapshot.ask(p.nvmlEventSetWait, events, 0)]
    assert [79, "error 10"] == seen


def test_the_wait_leaves_other_threads_running(simulated: Simulated) -> None:
    """While one thread waits for events, another takes values."""
    simulated(H100 + "[[event]]\nat_s = 0.4\ngpu = 3\nxid = 79")
    events = registered(3)
    seen: list[int] = []
    waiting = threading.Thread(
        target=lambda: seen.append(p.nvmlEventSetWait(events, 10_000).eventData)
    )
    waiting.start()
    handle = p.nvmlDeviceGetHandleByIndex(0)
    taken = 0
    while waiting.is_alive():
        p.nvmlDeviceGetPowerUsage(handle)
        taken += 1
    waiting.join()
    assert ([79], True) == (seen, taken > 10)


def test_a_lost_gpu_can_fail_the_wait_at_once(simulated: Simulated) -> None:
    """An error of the wait itself returns at once: a loop that only continues would spin."""
    simulated(H100 + "[call.nvmlEventSetWait_v2]\nreturns = 15")
    start = time.monotonic()
    answer = snapshot.ask(p.nvmlEventSetWait, registered(0), 5_000)
    assert ("error 15", True) == (answer, time.monotonic() - start < 1)


def test_a_freed_set_is_no_argument(simulated: Simulated) -> None:
    """After its end a set can be neither waited for nor freed again."""
    simulated(H100)
    events = registered(0)
    p.nvmlEventSetFree(events)
    answers = [
        snapshot.ask(p.nvmlEventSetWait, events, 0),
        snapshot.ask(p.nvmlEventSetFree, events),
    ]
    assert ["error 2", "error 2"] == answers
