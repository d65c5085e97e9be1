"""JSON as strangers send it: no duplicate keys, no NaN, no infinity, no deep nesting."""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

DEEPEST = 64
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
OPEN, CLOSE = frozenset(b"[{"), frozenset(b"]}")
NOT_BRACKETS = bytes(set(range(256)) - OPEN - CLOSE)


class Refused(ValueError):  # noqa: N818 - it says what happened
    """The text is no JSON that is taken; its message says why."""


def object_of(text: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what *text* holds."""
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise Refused("not a JSON object") from None
    except RecursionError:
        raise Refused(f"nested deeper than {DEEPEST}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refused("not JSON") from None
    if depth(text) > DEEPEST:
        raise Refused(f"nested deeper than {DEEPEST}")
    return _loaded(text, number=_finite)


def check(text: bytes | memoryview) -> None:
    """Raise Refused for duplicate keys and deep nesting in what was read as JSON already."""
    if depth(bytes(text)) > DEEPEST:
        raise Refused(f"nested deeper than {DEEPEST}")
    _loaded(bytes(text), number=None)


def _loaded(text: bytes, number: Callable[[str], float] | None) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what valid JSON holds; values that a typed decoder passes over are looked at here."""
    try:
        return json.loads(text.decode(), object_pairs_hook=_once, parse_float=number)
    except Refused:
        raise
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None
    except ValueError:
        raise Refused("a number is out of range") from None


def depth(text: bytes) -> int:
    """Return how deep valid JSON is nested, or fewer brackets than count."""
    brackets = text.count(b"[") + text.count(b"{")
    if brackets <= DEEPEST:
        return 0
    deep = deepest = 0
    for byte in STRING.sub(b"", text).translate(None, NOT_BRACKETS):
        if byte in OPEN:
            deep += 1
            deepest = max(deepest, deep)
        else:
            deep -= 1
    return deepest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(f"the key {twice[:60]!r} stands twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Refused("a number is out of range")
    return number
