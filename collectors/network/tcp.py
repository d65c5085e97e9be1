"""Whether peers accept TCP connections to port 22, and whether sshd says a word there."""

from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Peer, Wanted
from collectors.network import traffic
from collectors.network.peers import START_S, others
from collectors.node.protocol import Node

PORT = 22
DEADLINE_S = 6.0


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The verb's answer."""

    connected: bool = False
    refused: bool = False
    banner: str = ""
    error: str = ""
    seconds: float = 0.0


class TcpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one peer's port answered; `banner` is the first line that it sent by itself.

    `age_s` and `answered_s` as for a probe: how long ago this was, and when it last sent a banner.
    """

    peer: str
    target: str
    port: int = PORT
    connected: bool = False
    refused: bool = False
    banner: str = ""
    error: str = ""
    seconds: float | None = None
    missing: Missing | None = None
    age_s: float = 0.0
    answered_s: float | None = None

    @property
    def answered(self) -> bool:
        """Return whether a server was there and spoke."""
        return bool(self.banner)


class TcpAnswers(Observation, frozen=True, kw_only=True):
    """What port 22 of each peer with an address answered, in the settings' order."""

    answers: tuple[TcpAnswer, ...] = ()


async def collect(node: Node, wanted: Wanted) -> TcpAnswers | Missing:
    """Connect to peer after peer."""
    peers = [peer for peer in await others(node, wanted.peers) if peer.address]
    if peers and (held := await traffic.heavy(node, wanted.sample_s)):
        return held
    began, answers = node.monotonic(), []
    for peer in peers:
        if node.monotonic() - began > START_S and not wanted.patient:
            detail = f"not begun: the peers before it took {START_S:g} s"
            missing = Missing(what=f"tcp {peer.name}", cause=Cause.TIMEOUT, detail=detail)
            answers.append(TcpAnswer(peer=peer.name, target=peer.address or "", missing=missing))
        else:
            answers.append(await connect(node, peer))
    return TcpAnswers(answers=tuple(answers))


async def connect(node: Node, peer: Peer) -> TcpAnswer:
    """Connect to one peer."""
    target = peer.address or ""
    got: Any = await node.ask("tcp", deadline_s=DEADLINE_S, address=target, port=PORT)
    if isinstance(got, Missing):
        return TcpAnswer(peer=peer.name, target=target, missing=got)
    try:
        said = msgspec.convert(got, Said)
    except msgspec.ValidationError as problem:
        missing = Missing(what="tcp", cause=Cause.GARBLED, detail=str(problem)[:200])
        return TcpAnswer(peer=peer.name, target=target, missing=missing)
    return TcpAnswer(peer=peer.name, target=target, **msgspec.structs.asdict(said))
