"""The edges that people declare: `data/*.toml`, one file a subject.

A file may name groups of faults; `@name` stands for all of a group, in an edge or in another group.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec

from diagnostics import package_data
from diagnostics.incidents.edge import Direction, Edge, Same

FOLDER = "diagnostics/incidents/data"
GROUP = "@"
SUBJECTS = ("hardware", "host", "storage", "network", "nccl", "training", "job_log")

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


Groups = Mapping[str, tuple[str, ...]]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    groups: dict[str, tuple[str, ...]] = {}
    edge: tuple[_Follows, ...] = ()
    alike: tuple[_Alike, ...] = ()


def load() -> tuple[Edge, ...]:
    """Return all declared edges; EdgesError where a file is broken."""
    return tuple(edge for one in SUBJECTS for edge in parse(f"{one}.toml", _text(one)))


def groups(subject: str) -> Groups:
    """Return the groups of one file, each with its faults by name."""
    told = _read(f"{subject}.toml", _text(subject)).groups
    return {name: _each(f"{GROUP}{name}", told) for name in told}


def parse(name: str, text: str) -> tuple[Edge, ...]:
    """Return the edges of one TOML text; `name` is the file that EdgesError names."""
    told = _read(name, text)
    try:
        edges = (*_follows(told), *_alike(told))
    except KeyError as problem:
        raise EdgesError(
            f"{FOLDER}/{name}: no group is called {problem}, or it names itself; correct the file"
        ) from None
    for edge, times in Counter(edges).items():
        if times > 1:
            pair = f"{edge.cause} -> {edge.consequence} ({edge.same})"
            raise EdgesError(f"{FOLDER}/{name}: {pair} stands {times} times; keep one")
    return edges


def _text(subject: str) -> str:
    return package_data.text("diagnostics.incidents", f"data/{subject}.toml")


def _read(name: str, text: str) -> _File:
    try:
        return msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise EdgesError(f"{FOLDER}/{name}: {problem}; correct the file") from problem


def _follows(told: _File) -> Iterator[Edge]:
    for one in told.edge:
        for cause in _each(one.cause, told.groups):
            for consequence in _each(one.consequence, told.groups):
                if consequence != cause:
                    yield Edge(cause, consequence, one.same, one.within_s, one.direction)


def _alike(told: _File) -> Iterator[Edge]:
    for one in told.alike:
        yield from (Edge(fault, fault, one.same) for fault in _each(one.fault, told.groups))


def _each(names: str | tuple[str, ...], groups: Groups) -> tuple[str, ...]:
    """Return the faults that are meant; KeyError where a group is not there."""
    found: list[str] = []
    for name in (names,) if isinstance(names, str) else names:
        if not name.startswith(GROUP):
            found.append(name)
            continue
        inner = name.removeprefix(GROUP)
        # Without itself it cannot be named within itself.
        found += _each(groups[inner], {key: of for key, of in groups.items() if key != inner})
    return tuple(found)
