"""Whether the ports are busy with a job's traffic: no probe is sent into that."""

import re
from collections.abc import Iterator

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing
from collectors.network.ports import RATE
from collectors.node.protocol import Node

IB, NET = "/sys/class/infiniband", "/sys/class/net"
COUNTERS = tuple(f"{IB}/*/ports/*/counters/port_{way}_data" for way in ("xmit", "rcv"))
BYTES = tuple(f"{NET}/*/statistics/{way}_bytes" for way in ("tx", "rx"))
RATES = (f"{IB}/*/ports/*/rate", f"{NET}/*/speed")
# A port counts in words of 32 bits, an interface in bytes.
WORD_BITS, BYTE_BITS = 32, 8
# A job's collectives reach this; checkpoints and data loading of a healthy node seldom do.
HEAVY = 0.5

NUMBER = re.compile(r"[0-9]{1,20}")


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a port or interface carries in its busier direction, and what it can, in Gb/s."""

    name: str
    gbps: float
    rate_gbps: float


async def heavy(node: Node, sample_s: float) -> Missing | None:
    """Return why no probe is to be sent now, None where none of the ports is busy."""
    before, began = await node.files(*COUNTERS, *BYTES, cap=64), node.monotonic()
    if isinstance(before, Missing) or not before.texts:
        return None
    await node.sleep(sample_s)
    after = await node.files(*COUNTERS, *BYTES, *RATES, cap=64)
    seconds = node.monotonic() - began
    if isinstance(after, Missing) or seconds <= 0:
        return None
    return held(loads(before, after, seconds))


def held(seen: Iterator[Load]) -> Missing | None:
    """Return the busiest port as the reason, where it is too busy."""
    busiest = max(seen, key=lambda load: load.gbps / load.rate_gbps, default=None)
    if busiest is None or busiest.gbps < HEAVY * busiest.rate_gbps:
        return None
    detail = f"{busiest.name} carries {busiest.gbps:.0f} of {busiest.rate_gbps:g} Gb/s of traffic"
    return Missing(what="probes of peers", cause=Cause.HELD_BACK, detail=detail)


def loads(before: Files, after: Files, seconds: float) -> Iterator[Load]:
    """Yield what each port and interface carried between the two readings."""
    for (device, port), text in after.match(RATES[0]):
        counters = [f"{IB}/{device}/ports/{port}/counters/port_{w}_data" for w in ("xmit", "rcv")]
        hit = RATE.fullmatch(text.strip())
        if hit and (gbps := _gbps(before, after, counters, WORD_BITS / seconds)) is not None:
            yield Load(name=f"port {device}/{port}", gbps=gbps, rate_gbps=float(hit["gbps"]))
    for (name,), text in after.match(RATES[1]):
        counters = [f"{NET}/{name}/statistics/{way}_bytes" for way in ("tx", "rx")]
        speed = _number(text.strip())
        if speed and (gbps := _gbps(before, after, counters, BYTE_BITS / seconds)) is not None:
            yield Load(name=f"interface {name}", gbps=gbps, rate_gbps=speed / 1000)


def _gbps(before: Files, after: Files, paths: list[str], factor: float) -> float | None:
    moved = []
    for path in paths:
        first, last = _number(before.get(path)), _number(after.get(path))
        # Less than before is a counter that began anew.
        if first is not None and last is not None and last >= first:
            moved.append((last - first) * factor / 1e9)
    return max(moved, default=None)


def _number(text: str | None) -> int | None:
    return int(text) if text and NUMBER.fullmatch(text) else None
