"""The spool's disk: what is kept, what goes first when it is full, what survives a crash."""

import heapq
from collections.abc import Callable

import msgspec

from agent.outbox.folder import Folder
from agent.outbox.frames import HEADER, Frame, pack, unpack
from agent.outbox.log import Log, lost
from agent.outbox.ring import SNAPSHOT, Ring
from aggregator.wire import Report

MIB = 1 << 20
STATE = "state"
BLOCK = 1000
RETRY_S = 30.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of the spool, bytes."""

    disk: int = 256 * MIB
    memory: int = 4 * MIB
    record: int = MIB
    segment: int = MIB


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What must outlive a crash beside the records themselves.

    No number up to `reserved` is given again. `dropped` are lost reports that no report told of.
    """

    reserved: int = 0
    acknowledged: int = 0
    dropped: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How the spool stands; `problem` is the disk's own words while records are held in memory.

    `lost` counts since the start of this process.
    """

    disk_bytes: int = 0
    memory_bytes: int = 0
    lost: int = 0
    damaged: tuple[str, ...] = ()
    problem: str | None = None


class Store:
    """Two logs on disk, changes and snapshots, and a ring in memory for a disk that refuses.

    Only one thread uses it, and none of its methods raises OSError. A disk that failed is tried
    again after 30 s. Numbers must be given in growing order.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        limits: Limits | None = None,
        monotonic: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._limits = limits or Limits()
        self._monotonic = monotonic
        segment = min(self._limits.segment, self._limits.disk // 8)
        self._snapshots = Log(folder, SNAPSHOT, segment)
        self._changes = Log(folder, "change", segment)
        self._ring = Ring(self._limits.memory)
        self._state = State()
        self._loaded = False
        self._damaged: tuple[str, ...] = ()
        self._dropped = 0
        self._lost = 0
        self._problem: str | None = None
        self._retry_at = 0.0

    def open(self, at_least: int) -> int:
        """Read what is on disk; return the first number to give, above *at_least* and all used.

        *at_least* is the wall clock in milliseconds: with it no number comes back even where the
        folder was emptied or could not be written.
        """
        self._load()
        newest = max((s.last for log in self._logs for s in log.segments), default=0)
        first = 1 + max(at_least, newest, self._state.reserved, self._state.acknowledged)
        self.reserve(first)
        return first

    @property
    def _logs(self) -> tuple[Log, Log]:
        return self._changes, self._snapshots

    def _load(self) -> None:
        """Take what is on disk; where the folder cannot be listed, again before the next write."""
        try:
            sizes = self._folder.sizes()
        except OSError as problem:
            self._fail(problem)
            return
        known = self._read_state() if STATE in sizes else State()
        self._dropped += known.dropped
        done = max(known.acknowledged, self._state.acknowledged)
        reserved = max(known.reserved, self._state.reserved)
        self._state = State(reserved=reserved, acknowledged=done)
        for log in self._logs:
            log.load(sizes, done)
        self._collect()
        self._loaded = True

    def _read_state(self) -> State:
        """Return the state; without it all that is held is sent again, and none is lost."""
        try:
            frame = unpack(self._folder.read(STATE))
        except OSError:
            frame = None
        if frame is None:
            self._damaged = (STATE,)
            return State()
        return msgspec.json.decode(frame.body, type=State)

    def reserve(self, sequence: int) -> None:
        """See to it that no number up to *sequence*, and a block more, is given after a crash."""
        if sequence > self._state.reserved:
            self._save(msgspec.structs.replace(self._state, reserved=sequence + BLOCK))

    def _save(self, state: State) -> None:
        """Write the state beside the old one and put it in its place."""
        state = self._state = msgspec.structs.replace(state, dropped=self._dropped)
        try:
            self._folder.write(f"{STATE}.new", 0, pack(0, msgspec.json.encode(state)))
            self._folder.sync(f"{STATE}.new")
            self._folder.replace(f"{STATE}.new", STATE)
            self._folder.sync_names()
        except OSError as problem:
            self._fail(problem)

    def append(self, report: Report, refused: int = 0) -> bool:
        """Keep a report, and tell in it of those lost before; return whether it is on disk now.

        *refused* counts reports that did not even get here. The number was reserved before.
        """
        self._drop(refused)
        told = self._dropped
        try:
            body = msgspec.json.encode(msgspec.structs.replace(report, dropped=told))
        except (ValueError, TypeError, RecursionError):  # lone surrogates, and what is no JSON
            body = b""
        if not 0 < len(body) <= self._limits.record:
            self._drop(1)
            return False
        kept = self._write(report.kind, report.sequence, body)
        if told and kept is not None:
            self._dropped -= told
            self._save(self._state)
        return bool(kept)

    def _write(self, kind: str, sequence: int, body: bytes) -> bool | None:
        """Return True where it is on disk, False in memory, None where there was no room."""
        try:
            if self._problem is None or self._monotonic() >= self._retry_at:
                self._again()
                if not self._room(kind, len(body)):
                    self._drop(1)
                    return None
                self._log(kind).append(sequence, body)
                self._problem = None
                return True
        except OSError as problem:
            self._fail(problem)
        self._drop(self._ring.add(kind, sequence, body))
        return False

    def _log(self, kind: str) -> Log:
        return self._snapshots if kind == SNAPSHOT else self._changes

    def _again(self) -> None:
        """Bring to disk what was held in memory while the disk refused."""
        if not self._loaded:
            self._load()
        if not self._loaded:
            raise OSError(self._problem)
        while (first := self._ring.first()) is not None:
            kind, frame = first
            if self._room(kind, len(frame.body)):
                self._log(kind).append(frame.sequence, frame.body)
            else:
                self._drop(lost(frame.body))
            self._ring.forget(frame.sequence)

    def _room(self, kind: str, size: int) -> bool:
        """Make room: old snapshots go before changes, and never a change for a snapshot."""
        while sum(log.size for log in self._logs) + size + HEADER.size > self._limits.disk:
            if self._snapshots.segments:
                log = self._snapshots
            elif kind == SNAPSHOT or not self._changes.segments:
                return False
            else:
                log = self._changes
            self._drop(log.evict(self._state.acknowledged))
        return True

    def batch(self, most: int, most_bytes: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Return the oldest unacknowledged records in order, and whether there are more.

        A record longer than *most_bytes* comes alone.
        """
        done = self._state.acknowledged
        rows: list[tuple[int, bytes]] = []
        size = 0
        sources = [log.after(done) for log in self._logs]
        for frame in heapq.merge(*sources, self._ring, key=_sequence):
            if rows and (len(rows) == most or size + len(frame.body) > most_bytes):
                self._collect()
                return rows, True
            if not rows or frame.sequence > rows[-1][0]:
                rows.append((frame.sequence, frame.body))
                size += len(frame.body)
        self._collect()
        return rows, False

    def acknowledge(self, sequence: int, rejected: int = 0) -> None:
        """Let go of the records up to *sequence*; *rejected* of them will never be accepted."""
        self._drop(rejected)
        done = max(sequence, self._state.acknowledged)
        self._ring.forget(done)
        self._save(msgspec.structs.replace(self._state, acknowledged=done))
        if self._problem is not None:
            return
        try:
            for log in self._logs:
                log.forget(done)
        except OSError as problem:
            self._fail(problem)

    def _collect(self) -> None:
        """Count what the logs could not read back."""
        for log in self._logs:
            self._drop(log.lost)
            log.lost = 0

    def _drop(self, count: int) -> None:
        self._dropped += count
        self._lost += count

    def _fail(self, problem: OSError) -> None:
        self._problem = problem.strerror or str(problem)
        self._retry_at = self._monotonic() + RETRY_S

    def status(self) -> Status:
        """Return how the spool stands."""
        return Status(
            disk_bytes=sum(log.size for log in self._logs),
            memory_bytes=self._ring.size,
            lost=self._lost,
            damaged=self._damaged + tuple(n for log in self._logs for n in log.spoilt[-4:]),
            problem=self._problem,
        )


def _sequence(frame: Frame) -> int:
    return frame.sequence
