"""JSON of strangers: depth, duplicate keys, numbers, on any text."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.api import intake, strict
from aggregator.store.records import Arrival
from tests.aggregator.reports import lines, snapshot

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=80,
)


def deep(value: Any) -> int:
    """Return how deep a value is nested."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(deep, inner), default=0)
    return 0


@given(st.dictionaries(st.text(), VALUES), st.integers(0, 70))
def test_depth(value: dict[str, Any], more: int) -> None:
    """Depth is that of the value, whatever stands in its strings; few brackets count as none."""
    nested: Any = {"pad": [[]] * 70, "it": value}
    for _ in range(more):
        nested = [nested]
    assert min(deep(nested), strict.DEEPEST + 1) == strict.depth(
        json.dumps(nested, ensure_ascii=False).encode()
    )


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_read_back(value: dict[str, Any]) -> None:
    """What any encoder writes of sane values is read as it was."""
    assert value == strict.object_of(json.dumps(value).encode())


@given(st.binary(max_size=200))
@example(b"{" * 100_000)
@example(b'{"a":' + b"[" * 100_000)
@example(b'"' + b'\\"' * 100_000)
@example(b'{"a": 1' + b"0" * 5000 + b"}")
def test_any_bytes(text: bytes) -> None:
    """Whatever comes is read or refused, nothing else."""
    try:
        found = strict.object_of(text)
    except strict.Refused:
        found = {}
    assert isinstance(found, dict)


LINE = lines([snapshot()])[:-1]


@given(st.integers(0, len(LINE) - 1), st.binary(max_size=3))
def test_any_line(place: int, put: bytes) -> None:
    """A report with any bytes of it exchanged is taken or refused, nothing else."""
    line = LINE[:place] + put + LINE[place + 1 :]
    try:
        found: Arrival | str = intake.arrival(memoryview(line), "gpu-001", 10**6)
    except strict.Refused as refused:
        found = str(refused)
    assert isinstance(found, Arrival | str)


def test_many() -> None:
    """What makes more lists and objects than any report has is refused before they are made."""
    with pytest.raises(strict.Refused, match="more than 50000 lists and objects"):
        strict.object_of(b'{"a":[' + b"[]," * strict.MOST + b"0]}")


@pytest.mark.parametrize(
    "text", [b'{"a":1e400}', b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":Infinity}']
)
def test_numbers(text: bytes) -> None:
    """No number is infinite, and NaN is none."""
    with pytest.raises(strict.Refused):
        strict.object_of(text)
