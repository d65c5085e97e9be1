"""When each peer last answered, kept over a restart of the daemon: that a way worked since boot.

By it a silence is told from a peer that never answered, and the end that is to blame from the other
one. Times are of the monotonic clock, which goes on from boot to boot: of another boot nothing is
taken over.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent.daemon import state
from aggregator.wire import Way
from collectors.network.partitions import Place

NAME = "probes.json"
MOST = 4096
# A peer that answered before does so again each round: not each time is worth a write to the disk.
EACH_S = 600.0

# The tool, the peer, and the two ends' devices.
Key = tuple[str, str, str, str]


class Probes(msgspec.Struct, frozen=True, kw_only=True):
    """The file: seconds after boot of each last answer, and where this node's devices were then."""

    schema: Literal["gpudiag.probes/1"] = "gpudiag.probes/1"
    node: str | None = None
    boot_id: str | None = None
    answered: tuple[tuple[Key, float], ...] = ()
    places: dict[str, Place] = {}


class Answered:
    """The last answers of this boot, and where this node's devices were by then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.times: dict[Key, float] = {}
        self.places: dict[str, Place] = {}

    def learn(self, key: Key, place: Place | None = None) -> bool:
        """Take that a peer answers now, and where our device is; return whether that is new."""
        new = key not in self.times or (place is not None and self.places.get(key[2]) != place)
        self.times.pop(key, None)
        self.times[key] = self._clock()
        if place is not None:
            self.places[key[2]] = place
        while len(self.times) > MOST:
            del self.times[next(iter(self.times))]
        return new

    def ways(self, most: int) -> tuple[Way, ...]:
        """Return by device of this node when a peer last answered its pings."""
        last: dict[str, float] = {}
        for (tool, _, device, _), at in self.times.items():
            if tool == "ibping":
                last[device] = max(at, last.get(device, at))
        now = self._clock()
        found = ((device, at, self.of(device)) for device, at in last.items())
        ways = (Way(name, round(now - at, 1), place.pkey, place.lid) for name, at, place in found)
        return tuple(ways)[:most]

    def of(self, device: str) -> Place:
        """Return where a device of this node was last."""
        return self.places.get(device, Place())


class KeptProbes(Answered):
    """The same, on disk; made before the loop runs, because it reads a file."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._folder = folder
        self._writer: state.Writer | None = None
        self._written = float("-inf")
        kept, self._damage = state.load(folder / NAME, Probes)
        self._kept = kept or Probes()

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, or was when it was read."""
        return (self._writer.problem if self._writer else None) or self._damage

    def begin(self, node: str, boot_id: str | None) -> None:
        """Take over what is of this node and this boot; where no boot is known, nothing is."""
        kept, now = self._kept, self._clock()
        self._kept = Probes(node=node, boot_id=boot_id)
        if boot_id is not None and (kept.node, kept.boot_id) == (node, boot_id):
            self.times = {key: at for key, at in kept.answered if at <= now}
            self.places = dict(kept.places)

    def learn(self, key: Key, place: Place | None = None) -> bool:
        """Do as above; what is new is written at once, the rest now and then."""
        new = super().learn(key, place)
        if new or self._clock() - self._written >= EACH_S:
            self._write()
        return new

    def _write(self) -> None:
        # Before it is known which boot this is, there is nothing that could be taken over.
        if self._kept.boot_id is None:
            return
        self._written = self._clock()
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        kept, times = self._kept, tuple(self.times.items())
        self._writer.put(msgspec.structs.replace(kept, answered=times, places=dict(self.places)))

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what is newest; return whether that was done in time. Not for the loop."""
        if self._writer is None:
            return True
        self._write()
        return self._writer.close(patience_s)
