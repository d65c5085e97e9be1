"""The simulated libnvidia-ml: real C function pointers, where the binding looks for its library.

Runs in the helper process, on the standard library and pynvml alone. The binding above it is the
unmodified one, so its structures, error classes and surprises are those of a real node.
"""

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, ParamSpec, TypeVar

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator.functions import control, events, fields, health, identity, links
from collectors.gpu.simulator.functions import system as systems
from collectors.gpu.simulator.functions.answer import (
    FUNCTIONS,
    GPU_IS_LOST,
    INVALID_ARGUMENT,
    OK,
    UNINITIALIZED,
    UNKNOWN,
    Failed,
    Function,
    Gpu,
    Values,
)
from collectors.gpu.simulator.settings import Settings

T = TypeVar("T")
P = ParamSpec("P")

# Importing a module declares its functions.
DECLARED = (control, events, fields, health, identity, links, systems)
# Handles are no addresses of ours: what follows one would crash, as it should.
FIRST_HANDLE, BETWEEN = 0x7F00_0000_1000, 0x10
BLOCK_SLICE_S = 0.01
# Texts of nvml.h for codes that the binding asks the library for.
ERROR_TEXTS = {
    19: "In use by another client",
    21: "No data",
    22: "The requested vGPU operation is not available on target device, because ECC is enabled",
    23: "Ran out of critical resources, other than memory",
    24: "The requested frequency is not supported",
    25: "Argument version mismatch",
    26: "Requested functionality has been deprecated",
    27: "System is not in ready state",
}


class State(NamedTuple):
    """What holds from one moment on; `fails` tells whether any function is told to fail."""

    at_s: float
    system: Values
    gpus: list[Values]
    fails: bool


class Simulator:
    """The library's state. `errors` must stay empty: each entry is a call that no program may make.

    `actions` are the settings that were made, as (function, GPU, values). Where the plan names a
    file of `settings`, they are kept there, and those that others made are seen.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        system = plan["system"]
        self.count: int = system["count"]
        self.driver: str = system["driver"]
        self.nvml: str = system["nvml"]
        self.cuda: int = system["cuda"]
        self.highest_field: int | None = system["highest_field"]
        self.quirks = frozenset[str](system["quirks"])
        self.missing = frozenset[str](system["missing"])
        self.events: list[dict[str, Any]] = plan["events"]
        self.states = [_state(state) for state in plan["states"]]
        self._settings: Settings | None = None
        if "settings" in plan:
            self.keep_settings(plan["settings"])
        origin_s = plan.get("origin_s")
        self.origin_s: float = time.monotonic() if origin_s is None else origin_s
        self.initialised = 0
        self.event_sets: dict[int, events.EventSet] = {}
        self.errors: list[str] = []
        self.actions: list[tuple[Any, ...]] = []
        self._never = threading.Event()

    def keep_settings(self, path: str) -> None:
        """Keep what is set in a file, and see there what others set."""
        self._settings = Settings(path)

    def elapsed_s(self) -> float:
        """Return how long the scenario runs."""
        return time.monotonic() - self.origin_s

    @property
    def state(self) -> State:
        """What holds now."""
        if len(self.states) == 1:
            return self.states[0]
        now_s = self.elapsed_s()
        return next(s for s in reversed(self.states) if s.at_s <= now_s or s is self.states[0])

    def rest(self, seconds: float) -> None:
        """Wait; other threads run meanwhile, as during a real call."""
        self._never.wait(seconds)

    def handle(self, index: int) -> int:
        """Return the handle of a GPU."""
        return FIRST_HANDLE + index * BETWEEN

    def gpu(self, name: str, handle: int | None) -> Gpu:
        """Return the GPU of a handle; one that no getter gave crashes the real library."""
        index, beside = divmod((handle or 0) - FIRST_HANDLE, BETWEEN)
        if beside or not 0 <= index < self.count:
            what = "a NULL handle" if not handle else f"{handle:#x}, which is no handle"
            self.errors.append(f"{name} was given {what}: the real library can crash")
            raise Failed(INVALID_ARGUMENT)
        return Gpu(index, self.state.gpus[index])

    def enter(self, name: str, index: int | None = None) -> None:
        """Block and fail as the scenario says of this function, of the system or of one GPU."""
        if self.state.fails:
            self._block(name, index)
            if code := self._stated(name, index, "returns"):
                raise Failed(code)
        if index is not None and self.state.gpus[index].get("lost"):
            raise Failed(GPU_IS_LOST)

    def _block(self, name: str, index: int | None) -> None:
        start_s = time.monotonic()
        while (blocks_s := self._stated(name, index, "blocks_s")) and (
            blocks_s < 0 or time.monotonic() - start_s < blocks_s
        ):
            self.rest(BLOCK_SLICE_S)

    def _stated(self, name: str, index: int | None, what: str) -> Any:  # noqa: ANN401 - a number
        state = self.state
        tables = [state.system] if index is None else [state.gpus[index], state.system]
        keys = (f"call.{name}.{what}", f"call.*.{what}")
        return next((table[key] for table in tables for key in keys if key in table), None)

    def set(self, gpu: Gpu, key: str, value: int) -> None:
        """Change a value of one GPU, from now on and whatever later steps say of others."""
        for state in self.states:
            if state.at_s >= self.state.at_s:
                state.gpus[gpu.index][key] = value
        if self._settings is not None:
            self._settings.keep(gpu.index, {key: value})

    def _take_settings(self) -> None:
        """Let hold what others have set since the last call."""
        news = self._settings.news() if self._settings is not None else None
        for index, values in (news or {}).items():
            for state in self.states:
                table = state.gpus[int(index)]
                table.update(values)
                for key in [key for key, value in values.items() if value is None]:
                    # Not supported from now on.
                    del table[key]

    def act(self, name: str, gpu: Gpu, *values: int) -> None:
        """Note a setting that was made."""
        self.actions.append((name, gpu.index, *values))

    def watched(self, verb: Callable[P, T]) -> Callable[P, T]:
        """Return *verb*, which then raises where it made a call that no program may make."""

        @functools.wraps(verb)
        def checked(*args: P.args, **named: P.kwargs) -> T:
            answer = verb(*args, **named)
            if self.errors:
                raise RuntimeError("; ".join(self.errors))
            return answer

        return checked

    def answer(self, name: str, function: Function, arguments: tuple[Any, ...]) -> int:
        """Return the code of one call, after writing what it asked for."""
        try:
            self._answer(name, function, arguments)
        except Failed as failed:
            return failed.code
        except BaseException as problem:  # noqa: BLE001 - ctypes would drop it and return noise
            self.errors.append(f"{name}: {problem!r}")
            return UNKNOWN
        return OK

    def _answer(self, name: str, function: Function, arguments: tuple[Any, ...]) -> None:
        if not self.initialised and not function.before_init:
            raise Failed(UNINITIALIZED)
        self._take_settings()
        if not function.device:
            self.enter(name)
            return function.body(self, *arguments)
        index = self.gpu(name, arguments[0]).index
        # The state may be another one after a call that blocked.
        self.enter(name, index)
        return function.body(self, Gpu(index, self.state.gpus[index]), *arguments[1:])


def _state(state: Mapping[str, Any]) -> State:
    system, gpus = Values(state["system"]), [Values(gpu) for gpu in state["gpus"]]
    fails = any(key.startswith("call.") for table in (system, *gpus) for key in table)
    return State(state["at_s"], system, gpus, fails)


def install(plan: Mapping[str, Any]) -> Simulator:
    """Put a simulated library under the binding, of the data that `plan.plan` made."""
    simulator = Simulator(plan)
    pynvml.nvmlLib = _library(simulator)
    pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001 - it would answer from the last library
    return simulator


def _library(simulator: Simulator) -> SimpleNamespace:
    """Return an object whose attributes are C functions, as those of a loaded library are."""
    library = SimpleNamespace(nvmlErrorString=_error_string())
    for name, function in FUNCTIONS.items():
        if name not in simulator.missing:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *function.arguments)
            setattr(library, name, prototype(_callback(simulator, name, function)))
    return library


def _callback(simulator: Simulator, name: str, function: Function) -> Callable[..., int]:
    return lambda *arguments: simulator.answer(name, function, arguments)


def _error_string() -> Callable[[int], Any]:
    # The binding reads the result as char*: a callback of that type could not keep its text alive.
    kept = {code: ctypes.create_string_buffer(text.encode()) for code, text in ERROR_TEXTS.items()}
    unknown = ctypes.create_string_buffer(b"Unknown Error")
    prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)
    return prototype(lambda code: ctypes.addressof(kept.get(code, unknown)))
