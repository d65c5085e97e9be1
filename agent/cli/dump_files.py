"""Dumps of the flight recorder among the files that `gpudiag logs` was given."""

from collections.abc import Iterable
from pathlib import Path

from agent.cli.errors import say
from collectors.facts.answers import natural
from collectors.facts.observation import Cause, Missing
from collectors.helpers.children import flight_recorder
from collectors.helpers.children.loop import Refused
from collectors.jobs.flight_recorder import Dump, FlightDumps, named_rank, read

MOST_FILES = 4096
HEAD = 4096
# What stands at the beginning of one as JSON, whatever the order of its keys.
KEYS = (b'"pg_config"', b'"entries"', b'"comm_lib_version"', b'"pg_status"')


def taken(files: Iterable[str]) -> tuple[FlightDumps, list[str]]:
    """Return the dumps, of folders too, and the files that are none."""
    dumps: list[Dump] = []
    unseen: list[Missing] = []
    others: list[str] = []
    for file in dict.fromkeys(files):
        found = _in(file)
        if not found:
            others.append(file)
        for path in found:
            one = _read(path)
            if isinstance(one, Missing):
                say(f"cannot read {one.what}: {one.detail}", "the other dumps are judged")
                unseen.append(one)
            else:
                dumps.append(one)
    return FlightDumps(dumps=tuple(dumps), unseen=tuple(unseen)), others


def _in(file: str) -> list[Path]:
    """Return the dump that a file is, or those that a folder holds."""
    path = Path(file)
    if file == "-":
        return []
    if not path.is_dir():
        return [path] if _is_dump(path) else []
    inside = sorted(path.iterdir(), key=lambda one: natural(one.name))[:MOST_FILES]
    return [one for one in inside if _is_dump(one)]


def _is_dump(path: Path) -> bool:
    if named_rank(path.name) is None or not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            head = handle.read(HEAD)
    except OSError:
        return False
    as_json = head.lstrip()[:1] == b"{" and any(key in head for key in KEYS)
    return head[:1] == flight_recorder.PICKLES or as_json


def _read(path: Path) -> Dump | Missing:
    rank, name = named_rank(path.name), str(path)
    try:
        with path.open("rb") as handle:
            said = flight_recorder.summary(handle.read(flight_recorder.CAP + 1))
    except Refused as no:
        return Missing(what=name, cause=Cause.GARBLED, detail=no.detail)
    except OSError as problem:
        return Missing(what=name, cause=Cause.DENIED, detail=problem.strerror or "cannot be read")
    return read(rank or 0, name, said)
