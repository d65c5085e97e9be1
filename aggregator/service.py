"""What the aggregator is while it runs: its store, its clock, the few things that it remembers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

from aggregator import credentials
from aggregator.api.bounds import Bounds
from aggregator.fleet.jobs import Jobs
from aggregator.fleet.leases import Limits
from aggregator.fleet.ping_servers import PingServers
from aggregator.fleet.ways import Ways
from aggregator.settings import Place
from aggregator.store.protocol import Store
from aggregator.store.records import Arrival, Maintenance, Token
from aggregator.wire import Compared, Maintained, Way

KNOWN = 200_000


class Tallies(msgspec.Struct):
    """What /metrics counts since the start."""

    reports: Counter[str] = msgspec.field(default_factory=Counter)
    requests: Counter[tuple[str, int]] = msgspec.field(default_factory=Counter)
    unpacked_bytes: int = 0


class Stages(NamedTuple):
    """What a heartbeat told: when by its node's clock and by ours, and by stage the age in s."""

    sent: float
    received: float
    ages_s: Mapping[str, float]


class Others(NamedTuple):
    """Where a node's peers serve pings, where others answered them, and how its jobs differ."""

    serving: dict[str, tuple[str, ...]]
    worked: dict[str, tuple[Way, ...]]
    jobs: dict[str, Compared]


class Aggregator:
    """One of it is handed to every route."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        *,
        bounds: Bounds | None = None,
        limits: Limits | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        self.store = store
        self.clock = clock
        self.bounds = bounds or Bounds()
        self.limits = limits or Limits()
        self.places = tuple(places)
        self.listening_since = clock()
        self.paused = False
        self.in_flight = 0
        self.tallies = Tallies()
        self._tokens: dict[str, Token] = {}
        self._maintained: dict[str, Maintenance] = {}
        self._stages: dict[str, Stages] = {}
        self._servers, self._ways, self._jobs = PingServers(), Ways(), Jobs()

    async def start(self) -> None:
        """Take up what survived the restart."""
        pause = await self.store.switch("pause")
        self.paused = pause is not None and pause.on
        for one in await self.store.maintenances(self.clock()):
            self.maintain(one)
        self.listening_since = self.clock()

    def maintain(self, said: Maintenance) -> None:
        """Remember that people work on a node, or with an end in the past that they do not."""
        self._maintained[said.node] = said

    def maintained(self, node: str, now: float) -> Maintained | None:
        """Return what a node is told of the work on it; None where there is none."""
        said = self._maintained.get(node)
        if said is None or said.until <= now:
            return None
        return Maintained(until=said.until, reason=said.reason, by=said.by)

    async def caller(self, text: str) -> Token | None:
        """Return whose credential *text* is, None where it is nobody's, expired or revoked."""
        parts = credentials.split(text)
        if parts is None:
            return None
        token = self._tokens.get(parts[0]) or await self.store.token(parts[0])
        if token is None or not credentials.right(token, parts[1]):
            return None
        if token.revoked or token.expires <= self.clock():
            return None
        if not token.used:
            token = await self._first_use(token)
        if len(self._tokens) >= KNOWN:
            self._tokens.clear()
        self._tokens[token.id] = token
        return token

    async def _first_use(self, token: Token) -> Token:
        await self.store.use_token(token.id, self.clock(), credentials.GRACE_S)
        if token.supersedes is not None:
            self._tokens.pop(token.supersedes, None)
        return msgspec.structs.replace(token, used=True)

    def forget(self, token_id: str | None = None, node: str | None = None) -> None:
        """Look credentials up anew: they were revoked or replaced."""
        if token_id is not None:
            self._tokens.pop(token_id, None)
        if node is not None:
            for known in [t.id for t in self._tokens.values() if t.node == node]:
                del self._tokens[known]

    def heard(self, arrivals: Sequence[Arrival], received: float) -> None:
        """Remember how old a node's stages are by its newest heartbeat, and whether it serves."""
        for one in arrivals:
            if one.whole:
                self._servers.heard(one.node, one.gauges, one.sent, received)
            elif one.kind == "heartbeat":
                self._ways.heard(one.node, one.boot_id, one.worked, one.sent, received)
                self._jobs.heard(one.node, one.jobs, one.sent, received)
            last = self._stages.get(one.node)
            if one.stages_s and (last is None or one.sent >= last.sent):
                if len(self._stages) >= KNOWN:
                    self._stages.clear()
                self._stages[one.node] = Stages(one.sent, received, one.stages_s)

    def of_others(self, arrivals: Sequence[Arrival], now: float) -> Others:
        """Return what is known of the peers and jobs that the newest heartbeat of a batch names."""
        beats = [one for one in arrivals if one.peers or one.silent or one.jobs]
        if not beats:
            return Others({}, {}, {})
        newest = max(beats, key=lambda one: one.sent)
        return Others(
            self._servers.of(newest.peers, now),
            self._ways.of(newest.silent, now),
            self._jobs.compared((one.job for one in newest.jobs), now),
        )

    def stages_of(self, node: str, now: float) -> dict[str, float]:
        """Return how old each stage is now; none until a heartbeat came since the start."""
        last = self._stages.get(node)
        if last is None:
            return {}
        since = max(0.0, now - last.received)
        return {stage: round(age + since, 1) for stage, age in last.ages_s.items()}

    def places_of(self, node: str) -> tuple[str, ...]:
        """Return rack and rails of a node as the settings have them, like `rack=r07`."""
        return tuple(f"{k}={name}" for place in self._of(node) for k, name in place.names())

    def shared_by(self, node: str) -> tuple[str, ...]:
        """Return all that a node shares with others by the settings, like `feed=a2`."""
        return tuple(f"{k}={name}" for place in self._of(node) for k, name in place.shared())

    def _of(self, node: str) -> Iterator[Place]:
        return (p for p in self.places if any(fnmatchcase(node, glob) for glob in p.nodes))
