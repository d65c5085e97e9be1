"""The table of `gpudiag net test --link`: what adapters say of their cables."""

import json
import sys
from collections.abc import Sequence

import msgspec

from agent.cli.errors import Mistake, printable
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.link_quality import LinkQuality, look
from collectors.network.ports import Ports
from collectors.network.ports import collect as collect_ports
from collectors.node.protocol import Node

# Of all devices; one device goes by its own name.
ALL = "all"
MOST = 64
# IBTA's limit behind error correction, which ibdiagnet has as its default too.
MOST_BER = 1e-12
HEADS = ("device", "state", "speed", "FEC", "raw BER", "effective", "C", "receive dBm", "cable")


async def asked(node: Node, device: str) -> list[LinkQuality | Missing]:
    """Ask one device, or each that has a port, one after the other."""
    try:
        names = [device] if device != ALL else await _devices(node)
        return [await look(node, name) for name in names[:MOST]]
    finally:
        await node.close()


async def _devices(node: Node) -> list[str]:
    ports = await collect_ports(node, Wanted())
    listed = [] if not isinstance(ports, Ports) else [p for p in ports.ports if not p.virtual]
    if not listed:
        why = ports.why() if isinstance(ports, Missing) else "there is none in sysfs"
        raise Mistake(
            f"no InfiniBand or RoCE port is seen: {why}", "gpudiag run --stage network says why"
        )
    return list(dict.fromkeys(port.device for port in listed))


def show(seen: Sequence[LinkQuality | Missing], *, as_json: bool) -> int:
    """Print what was said; return the exit status: 1 where bits stay wrong, 3 where one is mute."""
    told = [one for one in seen if isinstance(one, LinkQuality)]
    gaps = [one for one in seen if isinstance(one, Missing)]
    if gaps and not told:
        raise Mistake(f"no adapter tells of its link: {gaps[0].why()}", _hint(gaps[0].cause))
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins([*told, *gaps])) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines(told, gaps)))
    bad = any(over(one) for one in told)
    return 1 if bad else 3 if gaps else 0


def _hint(cause: Cause) -> str:
    if cause in (Cause.NO_TOOL, Cause.DENIED):
        return "run it as root, with mlxlink of NVIDIA's firmware tools (MFT) installed"
    return "give a name that stands in /sys/class/infiniband, and see the kernel log"


def over(one: LinkQuality) -> bool:
    """Return whether more bits stay wrong behind the correction than may."""
    return one.effective_ber is not None and one.effective_ber > MOST_BER


def lines(told: Sequence[LinkQuality], gaps: Sequence[Missing]) -> list[str]:
    """Return the table, and what is to be said of single rows; all of it safe on a terminal."""
    rows = [HEADS, *(_row(one) for one in told)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEADS))]
    table = [
        "  ".join(f"{word:<{wide}}" for word, wide in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    said = [
        f"{printable(one.device)}: {one.effective_ber:.0e} of its bits are wrong behind error "
        f"correction, limit {MOST_BER:.0e} (IBTA): clean or exchange the cable"
        for one in told
        if over(one)
    ]
    advice = [f"{printable(o.device)}: {printable(o.advice)}" for o in told if o.advice]
    return [*table, *said, *advice, *(f"not told: {printable(gap.why())}" for gap in gaps)]


def _row(one: LinkQuality) -> tuple[str, ...]:
    heat = None if one.celsius is None else f"{one.celsius:.0f}"
    power = " ".join(f"{dbm:.1f}" for dbm in one.receive_dbm) or None
    speed = " ".join(word for word in (one.speed, one.width) if word) or None
    words = (one.state, speed, one.fec, _ber(one.raw_ber), _ber(one.effective_ber), heat, power)
    return tuple(printable(word or "-") for word in (one.device, *words, one.cable))


def _ber(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.0e}"
