"""What the peers' own agents say of their ping servers, as the aggregator passes it on."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

# As long as the aggregator itself holds a peer's word to be fresh.
FRESH_S = 600.0
MOST_PEERS = 4096


class Word(NamedTuple):
    """The devices on which a peer's server runs, and when we were told."""

    devices: tuple[str, ...]
    at: float


class Confirmed:
    """The last word of each peer; what is old is forgotten, and the settings count again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._words: dict[str, Word] = {}

    def told(self, serving: Mapping[str, tuple[str, ...]]) -> None:
        """Take what an answer to a heartbeat tells, by peer."""
        at = self._clock()
        self._words = {name: word for name, word in self._words.items() if self._fresh(word)}
        for name, devices in serving.items():
            if name in self._words or len(self._words) < MOST_PEERS:
                self._words[name] = Word(tuple(devices), at)

    def serves(self, peer: str, rail: str) -> bool | None:
        """Return whether a peer's server runs, on *rail* where one is named; None: not known."""
        word = self._words.get(peer)
        if word is None or not self._fresh(word):
            return None
        return rail in word.devices if rail else bool(word.devices)

    def _fresh(self, word: Word) -> bool:
        return self._clock() - word.at <= FRESH_S
