"""Probes of peers in the daemon: one at a time, by the schedule, and what came of them so far.

The walk never waits for a probe: it is shown the last word of each peer with its age. It is the
walk that allows probes, by asking for them: where a stage before holds them back, it does not ask.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from agent.daemon.compared import Compared
from agent.daemon.confirmed import Confirmed
from agent.daemon.probed import Answered, Key
from aggregator.wire import Asks, Receipt, Way
from collectors.catalog import Source
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Peer, Wanted
from collectors.network import full_mtu, ibping, partitions, ping, tcp, traffic
from collectors.network.full_mtu import FullSize, FullSizes
from collectors.network.ibping import IbPings
from collectors.network.neighbours import Hops, Neighbours
from collectors.network.partitions import Place, may_talk
from collectors.network.peers import OtherEnd, Probe, short
from collectors.network.ping import Pings
from collectors.network.schedule import ROUND_S, Turn, turns
from collectors.network.subnet import Managers, SubnetManagers
from collectors.network.tcp import TcpAnswer, TcpAnswers
from collectors.node.protocol import Node

# A walk that asks for probes allows them for so long: several walks' time.
ALLOWED_S = 180.0
# To show what is kept costs nothing: each walk is shown the newest.
SHOWN_S = 30.0
# The settings may change while nothing is due.
IDLE_S = 10.0
# A turn missed by more than this, by a suspended host or a clock that was set, is left out.
LATE_S = 5.0
MOST_KEPT = 4096
# Of whose ping servers the aggregator is asked: those probed last, as many as it answers.
MOST_ASKED = 64
# A node has eight rails, and the aggregator takes as many.
MOST_DEVICES = 16

Answer = Probe | FullSize | TcpAnswer


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The last word of one peer by one tool: when it was, and when it last was an answer."""

    answer: Answer
    at: float
    answered: float | None = None


class Probing:
    """Makes this node's probes, and hands out what they said."""

    def __init__(
        self, node: Node, wanted: Callable[[], Wanted], answered: Answered | None = None
    ) -> None:
        self._node = node
        self._answered = answered or Answered(node.monotonic)
        self._wanted = wanted
        self._kept: dict[Key, Kept] = {}
        self._managers, self._hops = Managers(), Hops()
        self._allowed: float | None = None
        self._held: Missing | None = None
        self._done = 0.0
        self.confirmed = Confirmed(node.monotonic)
        self.compared = Compared(node.monotonic)

    def asks(self) -> Asks:
        """Return what the aggregator is asked of other nodes and may tell them."""
        return Asks(
            peers=self.asked(),
            silent=self.silent(),
            worked=self.worked(),
            jobs=self.compared.asks(),
        )

    def told(self, receipt: Receipt) -> None:
        """Take what it answers."""
        self.confirmed.told(receipt.serving, receipt.worked)
        self.compared.told(receipt)

    def asked(self) -> tuple[str, ...]:
        """Return the peers that were pinged over InfiniBand last, the newest first."""
        names = {peer.name for peer in self._wanted().peers}
        pinged = (name for tool, name, *_ in reversed(self._kept) if tool == "ibping")
        return tuple(name for name in dict.fromkeys(pinged) if name in names)[:MOST_ASKED]

    def silent(self) -> tuple[str, ...]:
        """Return those of them of whom one port did not answer: how they do with others counts."""
        silent = {
            name
            for (tool, name, *_), kept in self._kept.items()
            if tool == "ibping" and kept.answered != kept.at
        }
        return tuple(name for name in self.asked() if name in silent)

    def worked(self) -> tuple[Way, ...]:
        """Return by device of this node when a peer last answered its pings."""
        return self._answered.ways(MOST_DEVICES)

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return *sources* with those of probes as ones that show what is kept."""
        shown: dict[type[Observation], Any] = {
            IbPings: self.ibpings,
            Pings: self._pings,
            FullSizes: self._full_sizes,
            TcpAnswers: self._answers,
        }

        def behind(one: Source) -> Source:
            if one.shape is SubnetManagers:
                return msgspec.structs.replace(one, collect=self._managers.collect)
            if one.shape is Neighbours:
                return msgspec.structs.replace(one, collect=self._hops.collect)
            if one.shape in shown:
                shows = shown[one.shape]
                return msgspec.structs.replace(one, collect=shows, after=(), period_s=SHOWN_S)
            return self.compared.behind(one)

        return tuple(map(behind, sources))

    async def run(self) -> None:
        """Probe for ever, whom the schedule names, when it does."""
        own = (await self._node.identity()).node
        while True:
            turn = self._next(own)
            rest = IDLE_S if turn is None else turn.starts - self._node.now()
            if turn is None or rest > 0:
                await self._node.sleep(min(rest, IDLE_S))
                continue
            self._done = turn.starts
            if self._may():
                await self.make(turn)

    def _may(self) -> bool:
        return self._allowed is not None and self._node.monotonic() - self._allowed < ALLOWED_S

    def _next(self, own: str) -> Turn | None:
        """Return the next turn of this node that is not over; None where it has none soon."""
        rails = lists(own, self._wanted().peers)
        now = self._node.now()
        number = int(now // ROUND_S)
        named = named_in(own, self._wanted().peers)
        due = [turn for later in (0, 1) for turn in turns(named, rails, number + later)]
        return next((t for t in due if t.starts > max(self._done, now - LATE_S)), None)

    async def make(self, turn: Turn) -> None:
        """Probe the turn's peer; where it is silent, ask those who answered before."""
        self._held = await traffic.heavy(self._node, self._wanted().sample_s)
        if self._held is not None:
            return
        silent = await self.probe(turn.rail, turn.peer, turn.peer_rail)
        if not silent:
            return
        for when, whom in turn.instead:
            # Who answered before tells whose end it is; a stranger's silence would tell nothing.
            if self._good("ibping", whom, turn.rail) and whom != turn.peer:
                await self._node.sleep(max(when - self._node.now(), 0.0))
                if not await self.probe(turn.rail, whom, turn.rail):
                    return

    async def probe(self, rail: str, name: str, peer_rail: str) -> bool:
        """Probe one peer by all that is known of it; return whether its port was silent."""
        peer = self._peer(name, peer_rail)
        if peer is None:
            return False
        silent = False
        if ibping.target(peer):
            made = (await ibping.ping(self._node, [msgspec.structs.replace(peer, rail=rail)]))[0]
            other = peer_rail if peer_rail != rail else ""
            made = msgspec.structs.replace(made, peer_rail=other)
            at = await partitions.place(self._node, rail) if made.answered else None
            self._keep(("ibping", name, rail, other), made, at, answered=made.answered)
            silent = made.missing is None and not made.answered
        # One address stands for all rails: once a round is enough.
        if peer.address and self._older(("ping", name, "", ""), ROUND_S / 2):
            await self._over_ip(peer)
        return silent

    async def _over_ip(self, peer: Peer) -> None:
        probe = await ping.probe(self._node, peer)
        self._keep(("ping", peer.name, "", ""), probe, answered=probe.answered)
        if probe.answered:
            size = await full_mtu.send(self._node, probe)
            self._keep(("mtu", peer.name, "", ""), size, answered=size.received > 0)
        spoken = await tcp.connect(self._node, peer)
        self._keep(("tcp", peer.name, "", ""), spoken, answered=spoken.answered)

    def _peer(self, name: str, rail: str) -> Peer | None:
        ours = [one for one in self._wanted().peers if one.name == name]
        return next((one for one in ours if one.rail == rail), None)

    def _keep(
        self, key: Key, answer: Answer, place: Place | None = None, *, answered: bool
    ) -> None:
        now = self._node.monotonic()
        self._kept.pop(key, None)
        if answered:
            self._answered.learn(key, place)
        last = now if answered else self._answered.times.get(key)
        self._kept[key] = Kept(answer=answer, at=now, answered=last)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def _older(self, key: Key, seconds: float) -> bool:
        kept = self._kept.get(key)
        return kept is None or self._node.monotonic() - kept.at >= seconds

    def _good(self, tool: str, name: str, rail: str) -> bool:
        kept = self._kept.get((tool, name, rail, ""))
        return kept is not None and kept.answered == kept.at

    def _shown(self, tool: str) -> list[Any] | Missing:
        """Return what is kept of one tool, each with its age; the peers of old settings go."""
        self._allowed = now = self._node.monotonic()
        names = {peer.name for peer in self._wanted().peers}
        shown = []
        for (kept_tool, name, *_), kept in self._kept.items():
            if kept_tool != tool or name not in names:
                continue
            ages: dict[str, float] = {"age_s": round(now - kept.at, 1)}
            if kept.answered is not None and not isinstance(kept.answer, FullSize):
                ages["answered_s"] = round(now - kept.answered, 1)
            shown.append(msgspec.structs.replace(kept.answer, **ages))
        if not shown and names:
            detail = "no turn of this node has come yet"
            cause = Cause.HELD_BACK
            return self._held or Missing(what="probes of peers", cause=cause, detail=detail)
        return shown

    async def ibpings(self, node: Node, wanted: Wanted) -> IbPings | Missing:
        """Return what is known of the peers over InfiniBand."""
        del node
        if not any(ibping.target(peer) for peer in wanted.peers):
            return IbPings()
        shown = self._shown("ibping")
        if isinstance(shown, Missing):
            return shown
        return IbPings(probes=tuple(map(self._confirmed, shown)))

    def _confirmed(self, probe: Probe) -> Probe:
        """Return the probe with the peer's own word of its server, which counts more than ours."""
        rail = probe.peer_rail or probe.rail
        serves = self.confirmed.serves(probe.peer, rail)
        way = self.confirmed.worked(probe.peer, rail)
        return msgspec.structs.replace(
            probe,
            serves=probe.serves if serves is None else serves,
            theirs=None if way is None else self._theirs(probe, way),
        )

    def _theirs(self, probe: Probe, way: Way) -> OtherEnd:
        ours = self._answered.of(probe.rail)
        return OtherEnd(
            worked_s=round(way.ago_s, 1), reachable=may_talk(ours.pkey, way.pkey), lid=way.lid
        )

    async def _pings(self, node: Node, wanted: Wanted) -> Pings | Missing:
        del node
        if not any(peer.address for peer in wanted.peers):
            return Pings()
        shown = self._shown("ping")
        return shown if isinstance(shown, Missing) else Pings(probes=tuple(shown))

    async def _full_sizes(self, node: Node, wanted: Wanted) -> FullSizes | Missing:
        del node
        if not any(peer.address for peer in wanted.peers):
            return FullSizes()
        shown = self._shown("mtu")
        return shown if isinstance(shown, Missing) else FullSizes(peers=tuple(shown))

    async def _answers(self, node: Node, wanted: Wanted) -> TcpAnswers | Missing:
        del node
        if not any(peer.address for peer in wanted.peers):
            return TcpAnswers()
        shown = self._shown("tcp")
        return shown if isinstance(shown, Missing) else TcpAnswers(answers=tuple(shown))


def lists(own: str, peers: Sequence[Peer]) -> dict[str, list[str]]:
    """Return the nodes of each rail by name, this node among them."""
    named = named_in(own, peers)
    rails: dict[str, list[str]] = {}
    for peer in peers:
        rails.setdefault(peer.rail, [named]).append(peer.name)
    return rails


def named_in(own: str, peers: Sequence[Peer]) -> str:
    """Return this node's name as the settings write it, with or without its domain."""
    return next((peer.name for peer in peers if short(peer.name) == short(own)), own)
