"""The records of one kind on disk: numbered segment files, oldest first, only the newest grows."""

import contextlib
import re
from collections.abc import Iterator

import msgspec

from agent.outbox.folder import Folder
from agent.outbox.frames import Frame, Hole, pack, scan

NAME = re.compile(r"(?P<kind>[a-z]+)-(?P<number>\d{8})\.(?P<end>log|damaged)")
KEPT_DAMAGED = 2


class Told(msgspec.Struct):
    """What a report already says of reports that were lost before it."""

    dropped: int = 0


def lost(body: bytes) -> int:
    """Return how many reports are lost with this one: it, and those that only it tells of."""
    try:
        return 1 + max(0, msgspec.json.decode(body, type=Told).dropped)
    except msgspec.DecodeError:
        return 1


class Segment(msgspec.Struct):
    """One file; `size` is where its last whole record ends, `count` how many it holds."""

    name: str
    size: int = 0
    count: int = 0
    last: int = 0

    @property
    def damaged(self) -> bool:
        """Return whether the file was set apart."""
        return self.name.endswith(".damaged")


class Log:
    """The segments of one kind. Raises OSError as the folder does.

    A segment that this process did not begin is never written to: what a crash left at its end is
    not built upon. `lost` counts what could not be read back, `spoilt` names the files.
    """

    def __init__(self, folder: Folder, kind: str, segment_bytes: int) -> None:
        self._folder = folder
        self._kind = kind
        self._segment_bytes = segment_bytes
        self._number = 0
        self._open: Segment | None = None
        self.segments: list[Segment] = []
        self.lost = 0
        self.spoilt: list[str] = []

    @property
    def size(self) -> int:
        """Return the bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    def load(self, sizes: dict[str, int], acknowledged: int) -> None:
        """Take what is in the folder. A stretch that is no record counts as one that is lost."""
        names = sorted(n for n in sizes if (hit := NAME.fullmatch(n)) and hit["kind"] == self._kind)
        for name in names:
            self._number = int(name.partition("-")[2][:8])
            segment = Segment(name, size=sizes[name])
            self.segments.append(segment)
            try:
                parts = list(scan(self._folder.read(name)))
            except OSError:
                parts = [Hole(0, None)]
            self._take(segment, [part for part in parts if isinstance(part, Frame)])
            holes = [part for part in parts if isinstance(part, Hole)]
            if holes and not segment.damaged:
                self.lost += sum(h.before is None or h.before > acknowledged for h in holes)
                self._set_apart(segment)

    @staticmethod
    def _take(segment: Segment, frames: list[Frame]) -> None:
        segment.count = len(frames)
        segment.last = max((frame.sequence for frame in frames), default=0)

    def _set_apart(self, segment: Segment) -> None:
        """Give a damaged file its name; where that fails, it stays where it is and is read."""
        self.spoilt.append(segment.name)
        new = segment.name.replace(".log", ".damaged")
        if segment is self._open:
            self._open = None
        try:
            self._folder.replace(segment.name, new)
        except OSError:
            return
        segment.name = new

    def append(self, sequence: int, body: bytes) -> None:
        """Write one record; it is on disk when this returns, and in doubt when it raises."""
        data = pack(sequence, body)
        segment = self._open
        try:
            if segment is None or segment.size + len(data) > self._segment_bytes:
                segment = self._begin()
                self._folder.write(segment.name, 0, data)
                self._folder.sync(segment.name)
                self._folder.sync_names()
            else:
                self._folder.write(segment.name, segment.size, data)
                self._folder.sync(segment.name)
        except OSError:
            self._leave(segment)
            raise
        segment.size += len(data)
        segment.count += 1
        segment.last = sequence

    def _leave(self, segment: Segment | None) -> None:
        """After a failed sync nobody knows what is on disk: the next record begins a new file."""
        if segment is None:
            return
        self._open = None
        with contextlib.suppress(OSError):
            self._folder.cut(segment.name, segment.size)

    def _begin(self) -> Segment:
        self._number += 1
        self._open = Segment(f"{self._kind}-{self._number:08}.log")
        self.segments.append(self._open)
        return self._open

    def after(self, sequence: int) -> Iterator[Frame]:
        """Yield the records with a higher number, each once; a segment is read when reached."""
        for segment in [s for s in self.segments if s.last > sequence]:
            for frame in self._read(segment):
                if frame.sequence > sequence:
                    sequence = frame.sequence
                    yield frame

    def _read(self, segment: Segment) -> list[Frame]:
        """Return the records of a segment; what was whole once and is no more is lost."""
        try:
            data = self._folder.read(segment.name)[: segment.size]
        except OSError:
            data = b""
        frames = [part for part in scan(data) if isinstance(part, Frame)]
        if len(frames) < segment.count:
            self.lost += segment.count - len(frames)
            self._take(segment, frames)
            self._set_apart(segment)
        return frames

    def forget(self, acknowledged: int) -> None:
        """Remove what was acknowledged whole; the newest damaged ones stay for a person."""
        done = [s for s in self.segments if s.last <= acknowledged and s is not self._open]
        whole = [s for s in done if not s.damaged]
        for segment in whole + [s for s in done if s.damaged][:-KEPT_DAMAGED]:
            self._remove(segment)

    def evict(self, acknowledged: int) -> int:
        """Remove the oldest segment; return how many reports are lost with it."""
        segment = self.segments[0]
        try:
            parts = list(scan(self._folder.read(segment.name)))
            bodies = [p.body for p in parts if isinstance(p, Frame) and p.sequence > acknowledged]
            count = sum(map(lost, bodies))
        except OSError:
            count = segment.count if segment.last > acknowledged else 0
        self._remove(segment)
        return count

    def _remove(self, segment: Segment) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._folder.remove(segment.name)
        self.segments.remove(segment)
        if segment is self._open:
            self._open = None
