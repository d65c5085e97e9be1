"""Dumps of the flight recorder among the files that `gpudiag logs` was given."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.errors import say
from collectors.facts.observation import Cause, Missing

if TYPE_CHECKING:
    from collectors.jobs.flight_recorder import Dump, FlightDumps

# The reader of dumps is imported where there is one: most logs are none.

MOST_FILES = 4096
HEAD = 4096
# What stands at the beginning of one as JSON, whatever the order of its keys.
BRACE, PICKLED = b"{", b"\x80"
KEYS = (b'"pg_config"', b'"entries"', b'"comm_lib_version"', b'"pg_status"')


def taken(files: Iterable[str]) -> tuple["FlightDumps | None", list[str]]:
    """Return the dumps, of folders too, None where there is none; and the files that are none."""
    paths: list[Path] = []
    others: list[str] = []
    for file in dict.fromkeys(files):
        found = _in(file)
        paths += found
        if not found:
            others.append(file)
    return _dumps(paths) if paths else None, others


def _dumps(paths: Iterable[Path]) -> "FlightDumps":
    from collectors.jobs.flight_recorder import FlightDumps  # noqa: PLC0415 - see above

    dumps: list[Dump] = []
    unseen: list[Missing] = []
    for path in paths:
        one = _read(path)
        if isinstance(one, Missing):
            say(f"cannot read {one.what}: {one.detail}", "the other dumps are judged")
            unseen.append(one)
        else:
            dumps.append(one)
    return FlightDumps(dumps=tuple(dumps), unseen=tuple(unseen))


def _in(file: str) -> list[Path]:
    """Return the dump that a file is, or those that a folder holds."""
    path = Path(file)
    if file == "-":
        return []
    if not path.is_dir():
        return [path] if _is_dump(path) else []
    from collectors.facts.answers import natural  # noqa: PLC0415 - for a folder alone

    inside = sorted(path.iterdir(), key=lambda one: natural(one.name))[:MOST_FILES]
    return [one for one in inside if _is_dump(one)]


def _is_dump(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            head = handle.read(HEAD)
    except OSError:
        return False
    as_json = head.lstrip()[:1] == BRACE and any(key in head for key in KEYS)
    if head[:1] != PICKLED and not as_json:
        return False
    from collectors.jobs.flight_recorder import named_rank  # noqa: PLC0415 - see above

    return named_rank(path.name) is not None


def _read(path: Path) -> "Dump | Missing":
    from collectors.helpers.children import flight_recorder  # noqa: PLC0415 - see above
    from collectors.helpers.children.loop import Refused  # noqa: PLC0415 - see above
    from collectors.jobs.flight_recorder import named_rank, read  # noqa: PLC0415 - see above

    rank, name = named_rank(path.name), str(path)
    try:
        with path.open("rb") as handle:
            said = flight_recorder.summary(handle.read(flight_recorder.CAP + 1))
    except Refused as no:
        return Missing(what=name, cause=Cause.GARBLED, detail=no.detail)
    except OSError as problem:
        return Missing(what=name, cause=Cause.DENIED, detail=problem.strerror or "cannot be read")
    return read(rank or 0, name, said)
