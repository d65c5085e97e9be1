"""Links as they were while somebody watched: up or down since when, and how often they dropped."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.ports import NUMBERED, PASSING, RATE
from collectors.node.protocol import Node

DEADLINE_S = 2.0
# The helper says by this that it is there, where nothing changes.
WAIT_S = 20
KEPT_S = 12 * 3600.0
MOST_DROPS = 64

# A link between two states of a link that comes up is neither: what it was still holds.
Up = bool | None


class Told(msgspec.Struct, frozen=True):
    """One interface by the kernel's word; `carrier` is None for one that is switched off."""

    up: bool
    carrier: bool | None = None
    downs: int | None = None


class Answer(msgspec.Struct, frozen=True):
    """The whole answer to `links`: the texts of state, phys_state and rate of each port."""

    ports: Mapping[str, tuple[str, str, str]] = {}
    interfaces: Mapping[str, Told] = {}


class LinkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One link: a `port` (`mlx5_0/1`) or a `nic` (`eth0`), as it was since it was first seen.

    `for_s` are the seconds for which it has been up, or down. `drops` are the ages in seconds of
    the times that it went down, newest first, of the last 12 hours; `outage_s` is how long the
    last one that is over lasted.
    """

    name: str
    kind: Literal["port", "nic"]
    up: bool
    said: str = ""
    rate_gbps: float | None = None
    for_s: float = 0.0
    drops: tuple[float, ...] = ()
    outage_s: float | None = None


class LinkHistory(Observation, frozen=True, kw_only=True):
    """All links that were seen to be up at least once; `watched_s` is 0 for a single look."""

    links: tuple[LinkRecord, ...] = ()
    watched_s: float = 0.0

    def of(self, name: str) -> LinkRecord | None:
        """Return the record of one link."""
        return next((link for link in self.links if link.name == name), None)


class _Track:
    """One link since it was first seen."""

    def __init__(self, now: "Now", at: float) -> None:
        self.now = now
        self.up = bool(now.up)
        self.since = at
        self.drops: list[float] = []
        self.outage_s: float | None = None
        self.downs = now.downs

    def take(self, now: "Now", at: float) -> bool:
        """Take what is seen at *at*; return whether the link changed."""
        # Down and up again between two looks: only the kernel's own count tells.
        between = now.up is True and self.up and _more(self.downs, now.downs)
        self.now, self.downs = now, now.downs
        if between:
            self.drops.append(at)
            self.since, self.outage_s = at, 0.0
            return True
        if now.up is None or now.up == self.up:
            return False
        if self.up:
            self.drops.append(at)
        else:
            self.outage_s = at - self.since if self.drops else None
        self.up, self.since = now.up, at
        return True

    def record(self, name: str, at: float) -> LinkRecord:
        """Return the link as it stands at *at*."""
        self.drops = [drop for drop in self.drops if at - drop <= KEPT_S][-MOST_DROPS:]
        return LinkRecord(
            name=name,
            kind=self.now.kind,
            up=self.up,
            said=self.now.said,
            rate_gbps=self.now.rate_gbps,
            for_s=round(at - self.since, 1),
            drops=tuple(round(at - drop, 1) for drop in reversed(self.drops)),
            outage_s=None if self.outage_s is None else round(self.outage_s, 1),
        )


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """One link at one time; `up` is None where that is not known, or about to change."""

    kind: Literal["port", "nic"]
    up: Up
    said: str
    rate_gbps: float | None = None
    downs: int | None = None


class Watching:
    """Links watched from now on: `wait` for a change, and `collect` what they are by then."""

    def __init__(self) -> None:
        self._missing: Missing | None = None
        self._tracks: dict[str, _Track] = {}
        self._began: float | None = None

    async def wait(self, node: Node) -> bool | Missing:
        """Wait for news, WAIT_S at most; return whether a link went up or down."""
        return self._answered(
            await node.ask("links", deadline_s=WAIT_S + DEADLINE_S, wait_s=WAIT_S), node
        )

    async def collect(self, node: Node, wanted: Wanted) -> LinkHistory | Missing:
        """Return the links as they stand now; asks only where nobody has waited yet."""
        del wanted
        if self._began is None and self._missing is None:
            self._answered(await node.ask("links", deadline_s=DEADLINE_S), node)
        return self.seen(node.monotonic()) if self._missing is None else self._missing

    def _answered(self, answer: object, node: Node) -> bool | Missing:
        self._missing = answer if isinstance(answer, Missing) else None
        if self._missing is not None:
            return self._missing
        try:
            return self.take(msgspec.convert(answer, Answer), node.monotonic())
        except msgspec.ValidationError as problem:
            detail = str(problem)[:200]
            self._missing = Missing(what="LinkHistory", cause=Cause.GARBLED, detail=detail)
            return self._missing

    def take(self, said: Answer, at: float) -> bool:
        """Take an answer of *at*, monotonic seconds; return whether a link went up or down."""
        self._began = at if self._began is None else self._began
        now = dict(seen(said))
        # What has gone is no link any more; one that was unplugged with its card is told elsewhere.
        self._tracks = {name: track for name, track in self._tracks.items() if name in now}
        changes = [self._take(name, one, at) for name, one in now.items()]
        return any(changes)

    def seen(self, at: float) -> LinkHistory:
        """Return all links as they stand at *at*."""
        watched_s = 0.0 if self._began is None else at - self._began
        records = [track.record(name, at) for name, track in self._tracks.items()]
        return LinkHistory(links=tuple(records), watched_s=round(watched_s, 1))

    def _take(self, name: str, now: Now, at: float) -> bool:
        if name in self._tracks:
            return self._tracks[name].take(now, at)
        if now.up:
            self._tracks[name] = _Track(now, at)
        return False


async def collect(node: Node, wanted: Wanted) -> LinkHistory | Missing:
    """Look once: who runs long keeps a `Watching`."""
    return await Watching().collect(node, wanted)


def seen(said: Answer) -> Iterator[tuple[str, Now]]:
    """Yield every link by name, ports first."""
    for name, texts in said.ports.items():
        yield name, _port(*(text.strip() for text in texts))
    for name, told in said.interfaces.items():
        word = "switched off" if not told.up else "carrier" if told.carrier else "no carrier"
        yield name, Now(kind="nic", up=told.carrier, said=word, downs=told.downs)


def _port(state: str, phys: str, rate: str) -> Now:
    states = [hit[1] for text in (state, phys) if (hit := NUMBERED.fullmatch(text))]
    name = states[0] if states else ""
    gbps = RATE.fullmatch(rate)
    return Now(
        kind="port",
        up=None if not name or name in PASSING else name.startswith("ACTIVE"),
        said=", ".join(states),
        rate_gbps=float(gbps["gbps"]) if gbps else None,
    )


def _more(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and now > before
