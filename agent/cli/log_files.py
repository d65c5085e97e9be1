"""Read the files that `gpudiag logs` was given, and judge what they hold."""

import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.dump_files import taken
from agent.cli.errors import Mistake, say
from agent.cli.log_order import ordered
from agent.cli.rotated import Joined, by_file
from agent.knowledge import knowledge, site
from agent.walk.jobs import jobs
from agent.walk.report import build
from agent.walk.walked import Walked
from collectors.facts.observation import Cause, Missing
from collectors.logs.pieces import pieces
from collectors.logs.unpack import Damaged, blocks
from diagnostics.check import Result, Seen
from diagnostics.checks.text.tools import tools
from diagnostics.checks.training.of_text import OF_TEXT
from diagnostics.document import Document
from diagnostics.finding import STAGES
from diagnostics.rules.kernel_seen import KernelSymptoms
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.runs import RunsBefore, chained

if TYPE_CHECKING:
    from collectors.jobs.flight_recorder import FlightDumps

STDIN = "stdin"


def diagnose(files: Sequence[str]) -> Document:
    """Return the document of all *files*; raises Mistake where none of them can be read."""
    logs: list[LogSeen] = []
    joined: list[Joined] = []
    unread = Unread()
    dumps, texts = taken(files)
    for group in ordered(texts):
        if (read := _read(group, unread)) is not None:
            logs.append(read[0])
            joined.append(read[1])
    told = bool(logs or dumps)
    for mistake in unread.mistakes[: None if told else -1]:
        say(mistake.what, mistake.hint)
    if not told:
        raise unread.mistakes[-1]
    seen = TrainingLogs(logs=tuple(logs), unseen=tuple(unread.missing))
    return document_of(seen, joined, dumps)


class Unread:
    """Files that could not be read, for the document and for people."""

    def __init__(self) -> None:
        self.missing: list[Missing] = []
        self.mistakes: list[Mistake] = []

    def add(self, file: str, problem: OSError) -> None:
        """Note why."""
        name = name_of(file)
        self.mistakes.append(why_unread(name, problem))
        detail = problem.strerror or "cannot be read"
        self.missing.append(Missing(what=name, cause=_cause(problem), detail=detail))


def _read(files: Sequence[str], unread: Unread) -> tuple[LogSeen, Joined] | None:
    """Return what the files of one log say as one text, None where none can be read."""
    name = name_of(files[-1])
    reading, parts = Reading(knowledge(site()), name), list[tuple[int, str]]()
    cut: Missing | None = None
    for file in files:
        before = reading.lines
        try:
            with _opened(file) as handle:
                parts.append((before, name_of(file)))
                cut = _feed(reading, handle, name_of(file)) or cut
        except OSError as problem:
            unread.add(file, problem)
    return (reading.seen(cut), Joined(name, tuple(parts))) if parts else None


def _feed(reading: Reading, handle: BufferedReader, name: str) -> Missing | None:
    """Read one file to its end; return why its rest could not be."""
    cut: Missing | None = None
    try:
        for piece in pieces(blocks(handle)):
            reading.feed(piece)
    except Damaged as problem:
        cut = Missing(what=name, cause=Cause.GARBLED, detail=str(problem))
        say(f"cannot read all of {name}: {problem}", "copy the file again; the rest is judged")
    reading.end_line()
    return cut


def name_of(file: str) -> str:
    """Return what a finding calls the file; bytes of a name that are no text are shown."""
    return STDIN if file == "-" else os.fsencode(file).decode("utf-8", "backslashreplace")


def _opened(file: str) -> AbstractContextManager[BufferedReader]:
    if file == "-":
        return nullcontext(BufferedReader(FileIO(0, closefd=False)))
    return Path(file).open("rb")


def document_of(
    seen: TrainingLogs, joined: Sequence[Joined] = (), dumps: "FlightDumps | None" = None
) -> Document:
    """Judge the text; stages that it says nothing of are listed without a check."""
    before = chained([(log.name, log.curve) for log in seen.logs])
    told: Seen = {TrainingLogs: seen, RunsBefore: before}
    said = {"training": (*(check.run(told) for check in OF_TEXT), *_dumped(dumps))}
    said["driver"] = tuple(_driver(seen))
    said["network"] = tuple(_network(seen))
    runs = {"training": jobs(seen, said["training"])}
    walked = [
        Walked(stage=stage, results=by_file(said.get(stage, ()), joined), jobs=runs.get(stage, ()))
        for stage in STAGES
    ]
    # What could not be read is the whole subject here: it is unknown, as with --strict.
    return build(walked, None, started=None, seconds=None, strict=True)


def _dumped(dumps: "FlightDumps | None") -> Iterator[Result]:
    """Judge the flight recorder's dumps, where there are any."""
    if dumps is not None:
        from collectors.jobs.flight_recorder import FlightDumps  # noqa: PLC0415 - where there is one
        from diagnostics.checks.training.flight_recorder import flight_recorder  # noqa: PLC0415 - what it knows of GPUs costs each other start

        yield flight_recorder.run({FlightDumps: dumps})


def _network(seen: TrainingLogs) -> Iterator[Result]:
    """Judge what the kernel's own lines say of links, where there are any."""
    for log in seen.logs:
        if log.kernel is not None:
            from diagnostics.checks.network.flaps import link_flaps  # noqa: PLC0415 - no job's log needs it

            yield link_flaps.run({KernelSymptoms: log.kernel})


def _driver(seen: TrainingLogs) -> Iterator[Result]:
    """Judge the kernel's own lines, and what a tool said of the node, where there are any."""
    for log in seen.logs:
        if log.kernel is not None:
            from diagnostics.checks.kernel.log import kernel_log  # noqa: PLC0415 - as above

            yield kernel_log.run({KernelSymptoms: log.kernel})
    said = tools.run({TrainingLogs: seen})
    if said.findings:
        yield said


def _cause(problem: OSError) -> Cause:
    return Cause.DENIED if isinstance(problem, PermissionError) else Cause.GARBLED


def why_unread(file: str, problem: OSError) -> Mistake:
    """Say why a file cannot be read, and what helps."""
    reason = (problem.strerror or str(problem)).lower()
    if isinstance(problem, FileNotFoundError):
        return Mistake(f"cannot read {file}: no such file", "give the log's path")
    if isinstance(problem, IsADirectoryError):
        return Mistake(f"cannot read {file}: it is a folder", f"name its files: {file}/*.log")
    if isinstance(problem, PermissionError):
        return _denied(file)
    return Mistake(f"cannot read {file}: {reason}", "see whether its file system is well")


def _denied(file: str) -> Mistake:
    try:
        seen = Path(file).stat()
        owner = _user(seen.st_uid)
    except OSError:
        what = f"cannot read {file}: permission denied on the way to it"
        return Mistake(what, "run it as the owner of the folder")
    mode = stat.S_IMODE(seen.st_mode)
    what = f"cannot read {file}: permission denied (owner {owner}, mode {mode:04o})"
    return Mistake(what, f"run it as {owner}, or let the group read the file: chmod g+r {file}")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
