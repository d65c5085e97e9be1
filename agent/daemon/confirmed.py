"""What the peers' own agents say of their ping servers and ways, as the aggregator passes it on."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from aggregator.wire import Way

# As long as the aggregator itself holds a peer's word to be fresh.
FRESH_S = 600.0
MOST_PEERS = 4096


class Word(NamedTuple):
    """What a peer said of one thing, by device, and when we were told."""

    devices: Mapping[str, Way | None]
    at: float


class Confirmed:
    """The last word of each peer; what is old is forgotten, and the settings count again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._serving: dict[str, Word] = {}
        self._worked: dict[str, Word] = {}

    def told(
        self,
        serving: Mapping[str, tuple[str, ...]],
        worked: Mapping[str, tuple[Way, ...]] | None = None,
    ) -> None:
        """Take what an answer to a heartbeat tells, by peer."""
        self._serving = self._with(
            self._serving, {name: dict.fromkeys(devices) for name, devices in serving.items()}
        )
        ways = (worked or {}).items()
        self._worked = self._with(
            self._worked, {name: {way.device: way for way in told} for name, told in ways}
        )

    def _with(
        self, words: Mapping[str, Word], told: Mapping[str, Mapping[str, Way | None]]
    ) -> dict[str, Word]:
        """Return *words* without the old ones and with those that were told now."""
        fresh = {name: word for name, word in words.items() if self._fresh(word)}
        for name, devices in told.items():
            if name in fresh or len(fresh) < MOST_PEERS:
                fresh[name] = Word(devices, self._clock())
        return fresh

    def serves(self, peer: str, rail: str) -> bool | None:
        """Return whether a peer's server runs, on *rail* where one is named; None: not known."""
        word = self._serving.get(peer)
        if word is None or not self._fresh(word):
            return None
        return rail in word.devices if rail else bool(word.devices)

    def worked(self, peer: str, rail: str) -> Way | None:
        """Return the peer's own way by *rail*, aged to now; None where it told of none."""
        word = self._worked.get(peer)
        way = word.devices.get(rail) if word is not None and self._fresh(word) else None
        if word is None or way is None:
            return None
        return msgspec.structs.replace(way, ago_s=way.ago_s + self._clock() - word.at)

    def _fresh(self, word: Word) -> bool:
        return self._clock() - word.at <= FRESH_S
