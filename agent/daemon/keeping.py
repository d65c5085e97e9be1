"""What the daemon remembers: walks counted, incidents since when, how the run before ended."""

import contextlib
import datetime as dt
from pathlib import Path

import msgspec

from agent.daemon import state
from agent.daemon.evidence import Evidence
from agent.daemon.state import State, Writer
from agent.daemon.stories import Stories
from agent.daemon.walker import Walk
from agent.walk.report import iso
from collectors.facts.subject import Subject
from collectors.kernel.following import Cursor
from diagnostics.document import Document, Incident
from diagnostics.incidents import clauses, life
from diagnostics.incidents.join import fingerprint
from diagnostics.incidents.life import Life

# Written by ExecStopPost of the unit: `watchdog dumped ABRT` and the like.
ENDED = "ended"
WAYS = {
    "watchdog": "systemd ended it: no walk was finished within WatchdogSec",
    "oom-kill": "the kernel ended it for want of memory",
    "timeout": "it did not stop in time and was killed",
}


class Keeping:
    """The state of one daemon; made before the loop runs, because it reads files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state, self._damage = state.read(folder)
        self.ended_before: str | None = None
        self._ended = _ended(folder)
        self._writer = Writer(folder)
        self._evidence = Evidence(folder)
        self._stories = Stories(folder)

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, or was at start."""
        own = self._writer.problem or self._evidence.problem or self._damage
        return own or self._stories.problem

    def begin(self, boot_id: str | None) -> str | None:
        """Begin a run in this boot; return how the one before ended, if not in order."""
        if self.state.running and self.state.boot_id == boot_id:
            self.ended_before = self._ended or "it was killed, and nothing says by whom"
        self._put(msgspec.structs.replace(self.state, boot_id=boot_id, running=True))
        return self.ended_before

    def walked(self, walk: Walk) -> Walk:
        """Count a walk; return it with the state of each incident, and since when it is known."""
        document = walk.document
        self._evidence.walked(document)
        checks = {finding["id"]: finding["check"] for finding in document.findings}
        now = {incident.fingerprint: checks[incident.root] for incident in document.incidents}
        lives = life.advance(
            self.state.incidents,
            now,
            _epoch(document),
            blind=_blind(document),
            within=_within(document) if self.state.incidents.keys() - now.keys() else (),
        )
        self._put(
            msgspec.structs.replace(self.state, sequence=self.state.sequence + 1, incidents=lives)
        )
        incidents = tuple(_living(one, lives.get(one.fingerprint)) for one in document.incidents)
        replaced = msgspec.structs.replace(document, incidents=incidents)
        self._stories.walked(replaced, lives)
        return msgspec.structs.replace(walk, document=replaced)

    def acknowledge(self, name: str) -> Life | None:
        """Note that a person knows of an incident; return its life, None where there is none."""
        known = self.state.incidents.get(name)
        if known is None:
            return None
        told = life.acknowledge(known)
        self._put(
            msgspec.structs.replace(self.state, incidents={**self.state.incidents, name: told})
        )
        return told

    def story(self, name: str) -> Document | None:
        """Return what was told last of an incident that is over; None where none is kept."""
        life = self.state.incidents.get(name)
        return None if life is None else self._stories.of(name, life)

    def release(self, until: float) -> None:
        """Remember until when the driver is not to be opened; 0 for no such time."""
        self._put(msgspec.structs.replace(self.state, released_until=until))

    def heard(self, cursor: Cursor) -> None:
        """Remember up to where the kernel log was read; it is written with the next walk."""
        self.state = msgspec.structs.replace(self.state, kernel=cursor)

    def end(self) -> None:
        """Say that this run ends in order."""
        self._stories.end(self.state.incidents)
        self._put(msgspec.structs.replace(self.state, running=False))

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        # Each has its time: a disk that hangs holds up the end no longer than that.
        kept = self._evidence.close(patience_s) & self._stories.close(patience_s)
        return kept & self._writer.close(patience_s)

    def _put(self, changed: State) -> None:
        self.state = changed
        self._writer.put(changed)


def _ended(folder: Path) -> str | None:
    """Return how systemd says the last run ended, and forget it."""
    path = folder / ENDED
    try:
        result, *rest = path.read_text("utf-8", "replace")[:200].split()
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError):
        path.unlink()
    if result == "success":
        return None
    return f"{WAYS.get(result, f'it ended by {result}')} ({' '.join([result, *rest])})"


def _blind(document: Document) -> set[str]:
    lines = [line for stage in document.stages for line in stage.checks]
    return {line.check for line in lines if line.verdict == "unknown"}


def _epoch(document: Document) -> float:
    return dt.datetime.fromisoformat(document.started).timestamp() if document.started else 0.0


def _within(document: Document) -> frozenset[str]:
    """Return the fingerprints of all that is found, whether it is an incident or within one."""
    return frozenset(
        fingerprint(document.node, f["fault"], msgspec.convert(f["subject"], Subject))
        for f in document.findings
        if f["severity"] != "info"
    )


def _living(incident: Incident, known: Life | None) -> Incident:
    if known is None:
        return incident
    # What says of no time when it began was there by then, and nothing later led to it.
    before = tuple(one for one in incident.changes if clauses.epoch(one) <= known.first_seen)
    return msgspec.structs.replace(
        incident,
        opened=iso(known.first_seen),
        state=known.state,
        changes=before,
        changes_before=clauses.listed(before),
    )
