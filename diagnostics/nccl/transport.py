"""What carries the data between nodes: verbs, sockets, or a plugin of which we know nothing."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from collectors.network.ports import Port
from diagnostics.nccl.lists import Selection, parse

Transport = Literal["ib", "socket", "plugin"]
DEVICES = "NCCL_IB_HCA"
# 1   0x1   +1  1abc: strtoll with base 0, which takes what it can read and ignores the rest
NUMBER = re.compile(r"\s*(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|(?P<digits>\d+))")
BOUND = 1 << 63


def number(text: str | None) -> int | None:
    """Return a parameter as NCCL reads it: an unreadable text is 0, None is its default."""
    if not text:
        return None
    hit = NUMBER.match(text[:64])
    if hit is None:
        return 0
    digits = hit["digits"] or ""
    if hit["hex"]:
        value = int(hit["hex"], 16)
    elif digits.startswith("0"):
        octal = re.match(r"[0-7]+", digits)
        value = int(octal[0], 8) if octal else 0
    else:
        value = int(digits)
    # Out of range is an error, and an error leaves the default.
    return (-value if hit["sign"] == "-" else value) if value < BOUND else None


def transport(settings: Mapping[str, str], ports: Iterable[Port]) -> Transport:
    """Return what carries the data of a rank whose node has these ports."""
    plugin, net = settings.get("NCCL_NET_PLUGIN", ""), settings.get("NCCL_NET", "").lower()
    # libfabric is there for a plugin only, which NCCL finds by its library's name.
    fabric = bool(settings.get("FI_PROVIDER")) and net == ""
    if fabric or plugin not in ("", "none") or net not in ("", "ib", "socket"):
        return "plugin"
    disabled = bool(number(settings.get("NCCL_IB_DISABLE")))
    if net == "socket" or disabled or not taken(ports, settings):
        return "socket"
    return "ib"


def taken(ports: Iterable[Port], settings: Mapping[str, str]) -> tuple[Port, ...]:
    """Return the ports in use that NCCL_IB_HCA leaves; all of them where it is not set."""
    selection = chosen(settings)
    return tuple(p for p in ports if p.active and selection.takes(p.device, p.port))


def chosen(settings: Mapping[str, str]) -> Selection:
    """Return what NCCL_IB_HCA says."""
    return parse(settings.get(DEVICES, ""))
