"""JSON as strangers send it: no duplicate keys, no NaN, no infinity, no deep nesting."""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

DEEPEST = 64
# A snapshot has some hundreds. The decoder holds the interpreter while it makes them: 40 ms for so
# many.
MOST = 50_000
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
SQUARE = bytes.maketrans(b"{}", b"[]")
NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


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
    _shallow(text)
    return _loaded(text, number=_finite)


def check(text: bytes | memoryview) -> None:
    """Raise Refused for duplicate keys and deep nesting in what was read as JSON already."""
    _shallow(bytes(text))
    _loaded(bytes(text), number=None)


def _shallow(text: bytes) -> None:
    if text.count(b"[") + text.count(b"{") > MOST:
        raise Refused(f"more than {MOST} lists and objects")
    if depth(text) > DEEPEST:
        raise Refused(f"nested deeper than {DEEPEST}")


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
    """Return how deep valid JSON is nested, counted to one more than is allowed.

    Few brackets are not deep, and count as 0. Else pairs are taken away from the inside, a level
    in each turn.
    """
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return 0
    left = STRING.sub(b"", text).translate(SQUARE, NO_BRACKET)
    turns = 0
    while left and turns <= DEEPEST:
        left = left.replace(b"[]", b"")
        turns += 1
    return turns


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
