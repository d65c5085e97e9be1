"""Which switch each InfiniBand port is on: one hop, asked of the other end of its own cable."""

import re
from collections.abc import Iterator

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.ibping import Said
from collectors.network.ports import CLASS, Port, Ports
from collectors.network.subnet import asked
from collectors.node.protocol import Node

DEADLINE_S = 30.0
CAP = 64

GIDS = f"{CLASS}/*/ports/1/gids/0"
# fe80:0000:0000:0000:506b:4b03:00a1:b2c3
GID = re.compile(r"(?:[0-9a-f]{4}:){4}([0-9a-f]{4}):([0-9a-f]{4}):([0-9a-f]{4}):([0-9a-f]{4})")
# Guid:............................0x506b4b0300a1c0f2
GUID = re.compile(r"^Guid:\.{1,60}(0x[0-9a-f]{1,16})$", re.MULTILINE)
# NodeType:........................Switch
SWITCH = re.compile(r"^NodeType:\.{1,60}Switch$", re.MULTILINE)
# LocalPort:.......................17
PORT = re.compile(r"^LocalPort:\.{1,60}(\d{1,3})$", re.MULTILINE)
# Node Description:............................leaf-03
NAME = re.compile(r"^Node Description:\.{1,60}(.{1,64})$", re.MULTILINE)


class Both(msgspec.Struct, frozen=True, kw_only=True):
    """The verb's answer for one port."""

    info: Said
    name: Said


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """One port and the switch at the other end of its cable.

    `rail` is its place among the node's ports that carry a job's traffic, from 0.
    """

    port: str
    port_guid: str | None
    rail: int
    switch: str
    switch_guid: str
    switch_port: int | None = None


class Neighbours(Observation, frozen=True, kw_only=True):
    """The ports that have a switch at the other end."""

    neighbours: tuple[Neighbour, ...] = ()


class Hops:
    """Neighbours asked for again and again; a port whose other end refuses is left alone."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def collect(
        self, node: Node, wanted: Wanted, ports: Ports | Missing
    ) -> Neighbours | Missing:
        """Ask along the cable of each active InfiniBand port that did not refuse before."""
        del wanted
        if isinstance(ports, Missing):
            return ports
        active = [port for port in asked(ports) if port.name not in self._refused]
        seen = await _collect(node, ports, active)
        if isinstance(seen, Neighbours):
            told = {one.port for one in seen.neighbours}
            self._refused |= {port.name for port in active if port.name not in told}
        return seen


async def collect(node: Node, wanted: Wanted, ports: Ports | Missing) -> Neighbours | Missing:
    """Ask once: who runs long keeps `Hops`."""
    return await Hops().collect(node, wanted, ports)


async def _collect(node: Node, ports: Ports, active: list[Port]) -> Neighbours | Missing:
    if not active:
        return Neighbours()
    got = await node.ask("neighbours", deadline_s=DEADLINE_S, devices=[p.device for p in active])
    if isinstance(got, Missing):
        return got
    gids = await node.files(GIDS, cap=CAP)
    try:
        said = msgspec.convert(got, list[Both])
        both = list(zip(active, said, strict=True))
    except ValueError as problem:
        return Missing(what="neighbours", cause=Cause.GARBLED, detail=str(problem)[:200])
    return Neighbours(neighbours=tuple(_read(ports, both, gids)))


def _read(
    ports: Ports, both: list[tuple[Port, Both]], gids: Files | Missing
) -> Iterator[Neighbour]:
    rails = [
        port.name for port in ports.ports if not port.virtual and port.role in ("compute", None)
    ]
    for port, said in both:
        info = said.info.stdout
        guid, name, number = GUID.search(info), NAME.search(said.name.stdout), PORT.search(info)
        if guid is None or not SWITCH.search(info):
            continue
        yield Neighbour(
            port=port.name,
            port_guid=_guid(gids, port.device),
            rail=rails.index(port.name) if port.name in rails else -1,
            switch=name[1].strip() if name else guid[1],
            switch_guid=guid[1],
            switch_port=int(number[1]) if number else None,
        )


def _guid(gids: Files | Missing, device: str) -> str | None:
    text = None if isinstance(gids, Missing) else gids.get(f"{CLASS}/{device}/ports/1/gids/0")
    hit = GID.fullmatch(text or "")
    return f"0x{''.join(hit.groups())}" if hit else None
