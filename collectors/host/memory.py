"""Memory of the host, and how long tasks wait for it (pressure stall information)."""

import re

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PRESSURE = "/proc/pressure/memory"
MEMINFO = "/proc/meminfo"
# full avg10=0.41 avg60=1.19 avg300=0.57 total=6924189
STALL = re.compile(
    r"(?P<kind>some|full) avg10=\S+ avg60=(?P<avg60>\d{1,3}\.\d+) avg300=\S+ total=\d+"
)
# MemAvailable:   2031619688 kB
AMOUNT = re.compile(r"(?P<name>\w+):\s+(?P<kib>\d{1,15}) kB")


class HostMemory(Observation, frozen=True, kw_only=True):
    """Bytes of host memory; the shares of the last minute are None where the kernel keeps none.

    `some_percent`: at least one task waited; `full_percent`: all that were not idle waited.
    """

    total_bytes: int
    available_bytes: int
    some_percent: float | None = None
    full_percent: float | None = None
    pressure_text: str | None = None


async def collect(node: Node, wanted: Wanted) -> HostMemory | Missing:
    """Read both files; a kernel without pressure stall information has one only."""
    del wanted
    seen = await node.files(PRESSURE, MEMINFO)
    if isinstance(seen, Missing):
        return seen
    amounts = parse_meminfo(seen.get(MEMINFO) or "")
    if "MemTotal" not in amounts or "MemAvailable" not in amounts:
        detail = f"{MEMINFO} names no MemTotal and MemAvailable"
        return Missing(what="HostMemory", cause=Cause.GARBLED, detail=detail)
    # psi=0 on the kernel's line leaves the file there, reading it then fails with EOPNOTSUPP.
    stalls = parse_pressure(text := seen.get(PRESSURE) or "")
    return HostMemory(
        total_bytes=amounts["MemTotal"],
        available_bytes=amounts["MemAvailable"],
        some_percent=stalls.get("some"),
        full_percent=stalls.get("full"),
        pressure_text=text.splitlines()[-1] if stalls else None,
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Return bytes by name."""
    hits = (AMOUNT.match(line) for line in text.splitlines())
    return {hit["name"]: int(hit["kib"]) * 1024 for hit in hits if hit}


def parse_pressure(text: str) -> dict[str, float]:
    """Return the share of the last minute by kind, in percent."""
    hits = (STALL.fullmatch(line) for line in text.splitlines())
    return {hit["kind"]: float(hit["avg60"]) for hit in hits if hit}
