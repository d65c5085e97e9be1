"""Reports held in memory while the disk refuses them: few, and snapshots go first."""

from collections import deque
from collections.abc import Iterator

from agent.outbox.frames import Frame
from agent.outbox.log import lost

SNAPSHOT = "snapshot"


class Ring:
    """At most *limit_bytes* of records in the order of their numbers."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held: deque[tuple[str, Frame]] = deque()
        self.size = 0

    def __len__(self) -> int:
        """Return how many records are held."""
        return len(self._held)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the records, oldest first."""
        return (frame for _, frame in self._held)

    def add(self, kind: str, sequence: int, body: bytes) -> int:
        """Take a record; return how many reports are lost for it, the oldest snapshots first."""
        self._held.append((kind, Frame(sequence, body, 0)))
        self.size += len(body)
        count = 0
        while self.size > self._limit_bytes:
            snapshot = (place for place, (kind, _) in enumerate(self._held) if kind == SNAPSHOT)
            count += lost(self._drop(next(snapshot, 0)).body)
        return count

    def first(self) -> tuple[str, Frame] | None:
        """Return the oldest record with its kind."""
        return self._held[0] if self._held else None

    def forget(self, acknowledged: int) -> None:
        """Let go of the records up to a number."""
        while self._held and self._held[0][1].sequence <= acknowledged:
            self._drop(0)

    def _drop(self, place: int) -> Frame:
        _, frame = self._held[place]
        del self._held[place]
        self.size -= len(frame.body)
        return frame
