"""The whole fabric, by `ibnetdiscover`: asked by a person, never by a node of itself."""

import re
from collections.abc import Iterator

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing
from collectors.node.protocol import Node

# A sweep of a large fabric takes seconds; who waits for it is a person.
DEADLINE_S = 60.0
MOST_LINKS = 200_000

# SW     2  5 0x506b4b0300a1c0f2 4x NDR - CA     6  1 0x506b4b0300a1b2c3 ( 'leaf-03' - 'gpu-020' )
LINK = re.compile(
    r"^(?P<kind>SW|CA|RT) +\d{1,5} +(?P<port>\d{1,3}) 0x(?P<guid>[0-9a-f]{16}) "
    r"(?P<width>\d{1,2}x) (?P<speed>\S{1,12}) +- (?P<to_kind>SW|CA|RT) +\d{1,5} +"
    r"(?P<to_port>\d{1,3}) 0x(?P<to_guid>[0-9a-f]{16}) "
    r"\( '(?P<name>.{0,64}?)' - '(?P<to_name>.{0,64}?)' \)\s*$",
    re.MULTILINE,
)


class Cable(msgspec.Struct, frozen=True, kw_only=True):
    """One cable as seen from a switch; `to_switch` says whether another switch is at its end."""

    switch: str
    switch_guid: str
    switch_port: int
    to: str
    to_guid: str
    to_port: int
    to_switch: bool
    width: str
    speed: str


async def discover(node: Node) -> list[Cable] | Missing:
    """Return all cables of the fabric, from switches' ends."""
    got = await node.command("ibnetdiscover", "-p", deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return got
    cables = list(parse(got))
    if cables:
        return cables
    detail = (got.stderr.strip().splitlines() or ["no switch answered"])[-1][:200]
    return Missing(what="ibnetdiscover", cause=Cause.GARBLED, detail=detail)


def parse(got: Output) -> Iterator[Cable]:
    """Yield the cables that `ibnetdiscover -p` lists."""
    for count, hit in enumerate(LINK.finditer(got.stdout)):
        if count >= MOST_LINKS:
            return
        if hit["kind"] == "SW":
            yield Cable(
                switch=hit["name"],
                switch_guid=f"0x{hit['guid']}",
                switch_port=int(hit["port"]),
                to=hit["to_name"],
                to_guid=f"0x{hit['to_guid']}",
                to_port=int(hit["to_port"]),
                to_switch=hit["to_kind"] == "SW",
                width=hit["width"],
                speed=hit["speed"],
            )
