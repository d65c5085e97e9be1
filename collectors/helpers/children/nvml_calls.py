"""Calls of NVML, each guarded: what goes wrong costs one value, and is kept as its code."""

import contextlib
import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

# pynvml raises its own errors; NVMLLibraryMismatchError is none of them, a symbol that the library
# lacks is an AttributeError in some getters, and a damaged name or serial a UnicodeDecodeError.
ERRORS = (
    pynvml.NVMLError,
    pynvml.NVMLLibraryMismatchError,
    AttributeError,
    UnicodeDecodeError,
)
NOT_SUPPORTED, FUNCTION_NOT_FOUND, VERSION_MISMATCH = 3, 13, 25
# A library that is too old for a function, or for the version of its structure.
TOO_OLD = frozenset({None, FUNCTION_NOT_FOUND, VERSION_MISMATCH})

Failed = dict[str, int | None]
# Name, the functions that give it (an older library knows only the later ones), arguments.
Number = tuple[str, tuple[str, ...], tuple[int, ...]]
# By function: the names of the values that it gives, and whether each is a yes or no.
Several = Mapping[str, tuple[tuple[str, bool], ...]]


def get(failed: Failed, name: str, call: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 - what NVML returns
    """Return what *call* returns, or None with its error code kept under *name*."""
    try:
        return call(*args)
    except ERRORS as error:
        failed[name] = code(error)
        return None


def code(error: BaseException) -> int | None:
    """Return the number of an NVML error; NVML errors can be neither hashed nor compared."""
    if isinstance(error, pynvml.NVMLLibraryMismatchError):
        return FUNCTION_NOT_FOUND
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else None


def text(value: Any) -> str | None:  # noqa: ANN401 - str from most getters, bytes from some
    """Return text, of whatever a getter of text returned."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else None


def address(pci: Any) -> str | None:  # noqa: ANN401 - a ctypes structure
    """Return `0000:4e:00.0`: sysfs writes four digits of domain and small letters, NVML eight."""
    if pci is None:
        return None
    field = type(pci).busId
    raw = ctypes.string_at(ctypes.addressof(pci) + field.offset, field.size)
    spelled = raw.split(b"\0")[0].decode("ascii", "backslashreplace").lower()
    domain, _, rest = spelled.partition(":")
    with contextlib.suppress(ValueError):
        return f"{int(domain, 16):04x}:{rest}"
    return None


def handle(index: int, at: str | None) -> tuple[int, Any]:
    """Return NVML's index and handle of a GPU, found by its address where that is given.

    Raises one of ERRORS. A failed handle is never kept: the real library crashes when it gets one
    back.
    """
    if at is None:
        return index, pynvml.nvmlDeviceGetHandleByIndex(index)
    # NVML itself writes the domain with eight digits.
    found = pynvml.nvmlDeviceGetHandleByPciBusId(f"0000{at}")
    return pynvml.nvmlDeviceGetIndex(found), found


class Gpu:
    """One GPU while it is asked: `said` is its answer, nested by the dots in names."""

    def __init__(self, found: Any) -> None:  # noqa: ANN401 - a handle
        self.handle = found
        self.failed: Failed = {}
        self.said: dict[str, Any] = {"failed": self.failed}

    def put(self, name: str, value: Any) -> None:  # noqa: ANN401 - JSON
        """Keep a value under `part.name`; None is kept by leaving it out."""
        if value is None:
            return
        table = self.said
        *parts, last = name.split(".")
        for part in parts:
            table = table.setdefault(part, {})
        table[last] = value

    def call(self, name: str, functions: Iterable[str], *args: Any) -> Any:  # noqa: ANN401 - what NVML returns
        """Return what the first of *functions* returns that this library knows.

        The names are looked up here, so that a binding without one is as a library without it.
        """
        result = None
        for function in functions:
            self.failed.pop(name, None)
            result = get(
                self.failed, name, lambda f=function: getattr(pynvml, f)(self.handle, *args)
            )
            if self.failed.get(name, 0) not in TOO_OLD:
                break
        return result

    def numbers(self, numbers: Sequence[Number]) -> None:
        """Ask and keep numbers, each by a function of its own."""
        for name, functions, args in numbers:
            self.put(name, self.call(name, functions, *args))

    def several(self, several: Several) -> None:
        """Ask and keep what comes several values at a time."""
        for function, names in several.items():
            values = self.call(names[0][0], (function,)) or ()
            for (name, yes_no), value in zip(names, values, strict=False):
                self.put(name, bool(value) if yes_no else value)

    def take(self, other: "Gpu") -> None:
        """Keep what *other* was told, too."""
        self.failed.update(other.failed)
        for name, value in other.said.items():
            if name == "failed":
                continue
            for key, inner in value.items() if isinstance(value, dict) else ():
                self.put(f"{name}.{key}", inner)
            if not isinstance(value, dict):
                self.put(name, value)
