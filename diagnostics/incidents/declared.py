"""The edges that people declare: `data/*.toml`, one file a subject."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Annotated

import msgspec

from diagnostics.incidents.edge import Direction, Edge, Same

FOLDER = "diagnostics/incidents/data"
SUBJECTS = ("hardware", "host", "storage", "network", "nccl", "training")

Seconds = Annotated[float, msgspec.Meta(gt=0)]


class EdgesError(ValueError):
    """Edges that cannot be read; the message names their file and what is wrong."""


class _Follows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each cause explains each consequence; a fault never explains itself here."""

    cause: str | tuple[str, ...]
    consequence: str | tuple[str, ...]
    same: Same
    within_s: Seconds | None = None
    direction: Direction = "any"


class _Alike(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Faults that two sources tell: one finding of it explains another one."""

    fault: str | tuple[str, ...]
    same: Same


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    edge: tuple[_Follows, ...] = ()
    alike: tuple[_Alike, ...] = ()


def load() -> tuple[Edge, ...]:
    """Return all declared edges; EdgesError where a file is broken."""
    folder = files("diagnostics.incidents") / "data"
    texts = [(f"{one}.toml", (folder / f"{one}.toml").read_text("utf-8")) for one in SUBJECTS]
    return tuple(edge for name, text in texts for edge in parse(name, text))


def parse(name: str, text: str) -> tuple[Edge, ...]:
    """Return the edges of one TOML text; `name` is the file that EdgesError names."""
    try:
        told = msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise EdgesError(f"{FOLDER}/{name}: {problem}; correct the file") from problem
    edges = (*_follows(told.edge), *_alike(told.alike))
    for edge, times in Counter(edges).items():
        if times > 1:
            pair = f"{edge.cause} -> {edge.consequence} ({edge.same})"
            raise EdgesError(f"{FOLDER}/{name}: {pair} stands {times} times; keep one")
    return edges


def _follows(told: Sequence[_Follows]) -> Iterator[Edge]:
    for one in told:
        for cause in _each(one.cause):
            for consequence in _each(one.consequence):
                if consequence != cause:
                    yield Edge(cause, consequence, one.same, one.within_s, one.direction)


def _alike(told: Sequence[_Alike]) -> Iterator[Edge]:
    for one in told:
        yield from (Edge(fault, fault, one.same) for fault in _each(one.fault))


def _each(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
