"""Event sets: what is registered for, and a wait that ends with an event or in time."""

import ctypes
import time
from typing import TYPE_CHECKING, Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator.functions.answer import (
    INVALID_ARGUMENT,
    POINTER,
    TIMEOUT,
    UINT,
    ULONGLONG,
    Failed,
    Gpu,
    device,
    put,
    struct,
    system,
)

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

SUPPORTED = pynvml.nvmlEventTypeAll
WHOLE_GPU = 0xFFFF_FFFF
SLICE_S = 0.05


class EventSet:
    """GPUs and the types registered for them, from which moment on; `next` is the first unseen."""

    def __init__(self) -> None:
        self.registered: dict[int, tuple[int, float]] = {}
        self.next = 0

    def wants(self, event: dict[str, Any]) -> bool:
        """Tell whether *event* came after its GPU was registered for its type."""
        types, since_s = self.registered.get(event["gpu"], (0, 0.0))
        return bool(types & event["type"]) and event["at_s"] >= since_s


def _known(simulator: "Simulator", handle: int | None) -> EventSet:
    found = simulator.event_sets.get(handle or 0)
    if found is None:
        raise Failed(INVALID_ARGUMENT)
    return found


@device("nvmlDeviceGetSupportedEventTypes", POINTER)
def _supported(_simulator: "Simulator", _gpu: Gpu, types: int) -> None:
    put(types, ULONGLONG, SUPPORTED)


@system("nvmlEventSetCreate", POINTER)
def _create(simulator: "Simulator", handle: int) -> None:
    made = EventSet()
    simulator.event_sets[id(made)] = made
    put(handle, POINTER, id(made))


@device("nvmlDeviceRegisterEvents", ULONGLONG, POINTER)
def _register(simulator: "Simulator", gpu: Gpu, types: int, handle: int | None) -> None:
    known = _known(simulator, handle)
    if types & ~SUPPORTED:
        raise Failed(INVALID_ARGUMENT)
    before, since_s = known.registered.get(gpu.index, (0, simulator.elapsed_s()))
    known.registered[gpu.index] = before | types, since_s


@system("nvmlEventSetWait_v2", POINTER, POINTER, UINT)
def _wait(simulator: "Simulator", handle: int | None, pointer: int, timeout_ms: int) -> None:
    known = _known(simulator, handle)
    data = struct(pointer, pynvml.c_nvmlEventData_t)
    end = time.monotonic() + timeout_ms / 1000
    while True:
        event = _due(simulator, known)
        if event is not None:
            return _fill(simulator, data, event)
        left = end - time.monotonic()
        if left <= 0:
            raise Failed(TIMEOUT)
        simulator.rest(min(left, SLICE_S, _until_next(simulator, known)))


def _due(simulator: "Simulator", known: EventSet) -> dict[str, Any] | None:
    """Return the next event that is due and wanted; those that are not wanted are passed by."""
    now_s = simulator.elapsed_s()
    while known.next < len(simulator.events) and simulator.events[known.next]["at_s"] <= now_s:
        event = simulator.events[known.next]
        known.next += 1
        if known.wants(event):
            return event
    return None


def _until_next(simulator: "Simulator", known: EventSet) -> float:
    if known.next >= len(simulator.events):
        return SLICE_S
    return max(0.001, float(simulator.events[known.next]["at_s"]) - simulator.elapsed_s())


def _fill(simulator: "Simulator", data: Any, event: dict[str, Any]) -> None:  # noqa: ANN401 - a ctypes structure
    ctypes.memset(ctypes.addressof(data), 0, ctypes.sizeof(data))
    put(ctypes.addressof(data), POINTER, simulator.handle(event["gpu"]))
    data.eventType, data.eventData = event["type"], event["data"]
    data.gpuInstanceId = data.computeInstanceId = WHOLE_GPU


@system("nvmlEventSetFree", POINTER)
def _free(simulator: "Simulator", handle: int | None) -> None:
    _known(simulator, handle)
    del simulator.event_sets[handle or 0]
