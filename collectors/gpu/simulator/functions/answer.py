"""How a function is declared, and what it answers with: codes, values, the caller's memory."""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

OK = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
TIMEOUT = 10
CORRUPTED_INFOROM = 14
GPU_IS_LOST = 15
VERSION_MISMATCH = 25
UNKNOWN = 999

POINTER = ctypes.c_void_p
TEXT = ctypes.c_char_p
UINT = ctypes.c_uint
INT = ctypes.c_int
ULONGLONG = ctypes.c_ulonglong

Body = Callable[..., None]
S = TypeVar("S", bound=ctypes.Structure)


class Failed(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The function returns this code instead of success."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Values(dict[str, Any]):
    """A flat table of the plan; what it does not hold, the GPU does not support."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(table)
        self.has_fields = any(key.startswith("field.") for key in table)

    def __missing__(self, key: str) -> Any:  # noqa: ANN401 - it never returns
        """Fail with NOT_SUPPORTED."""
        raise Failed(NOT_SUPPORTED)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU at this moment."""

    index: int
    values: Values


class Function(NamedTuple):
    """A C function: its arguments after the handle, and the body that answers.

    With *device* the body gets (simulator, gpu, ...), else (simulator, ...).
    """

    arguments: tuple[Any, ...]
    body: Body
    device: bool
    before_init: bool


FUNCTIONS: dict[str, Function] = {}


def system(name: str, *arguments: object, before_init: bool = False) -> Callable[[Body], Body]:
    """Declare a function that is of no GPU, or finds its GPU itself."""

    def declared(body: Body) -> Body:
        FUNCTIONS[name] = Function(arguments, body, device=False, before_init=before_init)
        return body

    return declared


def device(name: str, *arguments: object) -> Callable[[Body], Body]:
    """Declare a function that takes a GPU's handle first."""

    def declared(body: Body) -> Body:
        FUNCTIONS[name] = Function((POINTER, *arguments), body, device=True, before_init=False)
        return body

    return declared


def put(pointer: int | None, kind: Any, value: int) -> None:  # noqa: ANN401 - a ctypes type
    """Write one number where the caller points."""
    if not pointer:
        raise Failed(INVALID_ARGUMENT)
    kind.from_address(pointer).value = value


def put_text(pointer: int | None, text: str, size: int) -> None:
    """Write text, or bytes that are none, and its end; the caller's buffer has *size* bytes."""
    raw = text.encode("utf-8", "surrogateescape") + b"\0"
    if not pointer:
        raise Failed(INVALID_ARGUMENT)
    if len(raw) > size:
        raise Failed(INSUFFICIENT_SIZE)
    ctypes.memmove(pointer, raw, len(raw))


def struct(pointer: int | None, kind: type[S], *versions: int) -> S:
    """Return the caller's structure; one with versions must carry one of these."""
    if not pointer:
        raise Failed(INVALID_ARGUMENT)
    if versions and ctypes.c_uint.from_address(pointer).value not in versions:
        raise Failed(VERSION_MISMATCH)
    return kind.from_address(pointer)


def put_raw(target: ctypes.Structure, field: str, raw: bytes) -> None:
    """Write bytes into a character array, which the binding would cut at the first zero."""
    place = getattr(type(target), field)
    ctypes.memmove(ctypes.addressof(target) + place.offset, raw[: place.size], len(raw))
