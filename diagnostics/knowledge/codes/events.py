"""One line of a GPU or switch, weighed: by its sub-event where the line tells it, else by its code.

The texts differ between drivers and are written by nobody we can ask: each expression is bounded,
and what does not fit leaves the code's own weight.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from diagnostics.expression import Expression
from diagnostics.finding import Severity
from diagnostics.knowledge.codes import nvlink
from diagnostics.knowledge.codes.tables import Recovery, sxids, xids

NEAR = 400
# Channels are torn down at once, one line each; an 8-GPU job's take a few seconds.
ECHO_S = 10.0
NVLINK5 = range(144, 151)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says beyond its number.

    `severity` is what a reader of this log should be told; a `note` says nothing of the node by
    itself, such as a program's own error. `fault` is set where the line does not decide it, and the
    table does. `recovery` is that of the sub-event, None where the
    line has none that the tables know. `told` keeps different sub-events of one code apart.
    """

    severity: Severity
    note: bool = False
    fault: str | None = None
    recovery: Recovery | None = None
    told: str = ""
    values: Mapping[str, Any] = {}


Reader = Callable[[str], Event | None]


# 13, pid=8100, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 1, SM 0): Out Of Range
PLACE = Expression(r"\(GPC (?P<gpc>\d{1,3}), TPC (?P<tpc>\d{1,3})(?:, SM (?P<sm>\d{1,3}))?\)")
# 45, pid=8100, name=python3, Ch 00000001 caused by previous Xid 31
PREVIOUS = Expression(r"caused by previous Xid (?P<after_xid>\d{1,5})\b")
# Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No
CONTAINMENT = Expression(r"\b(?:Unc|C)ontained: (?P<unit>[A-Za-z0-9_ ]{1,40}?) ?\([^)]{0,60}\)")
RESET = Expression(r"\bRST: (?P<rst>Yes|No), D-RST: (?P<drst>Yes|No)\b")
# GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)
ACTION = Expression(
    r"recovery action changed from 0x[0-9a-fA-F]{1,4} \([^)]{1,60}\)"
    r" to 0x(?P<to>[0-9a-fA-F]{1,4}) \((?P<action>[^)]{1,60})\)"
)
# DRAM:1, LTC:0, MMU:0, PCIE:0
ESCAPED = Expression(r"\b(?P<unit>DRAM|LTC|MMU|PCIE):(?P<count>\d{1,9})\b")
# An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr
# 0x3fb21a040 partition 2, subpartition 1.
MEMORY = Expression(r"physAddr (?P<address>0x[0-9a-fA-F]{1,16})")
# Timeout after 6s of waiting for RPC response from GPU2 GSP! Expected function 76 (GSP_RM_CONTROL)
CALL = Expression(r"Expected function (?P<function>\d{1,5}) \((?P<call>\w{1,60})\)")


def xid(code: int, text: str) -> Event:
    """Return the weight of a line with this Xid; *text* is what follows the number."""
    text = text[:NEAR]
    read = READERS.get(code) or (nvlink5(code) if code in NVLINK5 else None)
    event = read(text) if read else None
    return event or _plain(code)


def _plain(code: int) -> Event:
    """Return the weight of the number alone; a number that no table has is a note."""
    known = xids().get(code)
    if known is None:
        return Event(severity="info")
    if known.severity == "info" and known.recovery == "restart_job":
        return Event(severity="warning", note=True)
    return Event(severity=known.severity)


def _kept(hit: re.Match[str] | None) -> dict[str, Any]:
    if hit is None:
        return {}
    found = {name: value for name, value in hit.groupdict().items() if value is not None}
    return {name: int(value) if value.isdecimal() else value for name, value in found.items()}


def _program(text: str) -> Event:
    return Event(severity="warning", note=True, values=_kept(PLACE.search(text)))


def _echo(text: str) -> Event:
    return Event(severity="info", values=_kept(PREVIOUS.search(text)))


def _memory(text: str) -> Event:
    return Event(severity="critical", values=_kept(MEMORY.search(text)))


def _companion(text: str) -> Event:
    return Event(severity="warning", values=_kept(MEMORY.search(text)))


def _recorded(text: str) -> Event:
    """63: a row waits for the reset, or on a GPU before Ampere a page for the driver's reload."""
    told = "page" if "page retire" in text.lower() or "retired page" in text.lower() else "row"
    return Event(severity="warning", recovery="watch", values={"repair": f"{told} pending"})


def _not_recorded(text: str) -> Event:
    """64: one of its texts says only that the repair already waits."""
    if "already pending" in text:
        values = {"repair": "already pending"}
        return Event(severity="warning", recovery="watch", told="already", values=values)
    full = "full" in text or "All reserved rows" in text
    return Event(severity="critical", values={"repair": "no spare left" if full else "failed"})


def _contained(text: str) -> Event:
    return _memory_use(text, contained="Uncontained" not in text)


def _uncontained(text: str) -> Event:
    return _memory_use(text, contained=False)


def _memory_use(text: str, *, contained: bool) -> Event:
    """94 and 95: `RST` and `D-RST` are the driver's request for a reset."""
    values = _kept(CONTAINMENT.search(text)) | _kept(RESET.search(text))
    asked: Recovery | None = None
    if values.get("drst") == "Yes":
        asked = "drain_and_reset"
    elif values.get("rst") == "Yes":
        asked = "reset_gpu"
    elif values.get("rst") == "No":
        asked = "restart_job" if contained else "reset_gpu"
    severity: Severity = "warning" if contained and asked in (None, "restart_job") else "critical"
    return Event(severity=severity, recovery=asked, values=values, told=asked or "")


def _escape(text: str) -> Event:
    found = {hit["unit"].lower(): int(hit["count"]) for hit in ESCAPED.finditer(text)}
    return Event(severity="critical", values=found)


def _firmware(text: str) -> Event:
    return Event(severity="critical", values=_kept(CALL.search(text)))


def _action(text: str) -> Event | None:
    hit = ACTION.search(text)
    if hit is None:
        return None
    value = int(hit["to"], 16)
    # nvml.h, nvmlDeviceGpuRecoveryAction_t: only 0 to 4 mean the same in all releases.
    severity: Severity = "info" if value == 0 else "warning" if value >= DRAIN else "critical"
    values = {"recovery_action": value, "action": hit["action"]}
    return Event(severity=severity, values=values, told=str(value))


DRAIN = 4


def _nvlink(text: str) -> Event | None:
    told = nvlink.registers(text)
    if told is None:
        return None
    return Event(
        severity=told.severity, recovery=told.recovery, told=told.group, values=told.values
    )


def nvlink5(code: int) -> Reader:
    """Return the reader of one of Xid 144 to 150."""

    def read(text: str) -> Event | None:
        told = nvlink.sub_event(code, text)
        if told is None:
            return None
        return Event(
            severity="warning" if told.severity == "info" and told.worth else told.severity,
            note=told.severity == "info",
            recovery=told.recovery,
            told=told.group,
            values=told.values,
        )

    return read


READERS: Mapping[int, Reader] = {
    13: _program,
    45: _echo,
    48: _memory,
    63: _recorded,
    64: _not_recorded,
    74: _nvlink,
    94: _contained,
    95: _uncontained,
    119: _firmware,
    120: _firmware,
    140: _escape,
    154: _action,
    171: _companion,
}


# nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 62 LTSSM Fault Up
LINK = Expression(r"\bLink (?P<link>\d{1,3})\b")


def sxid(code: int, text: str) -> Event:
    """Return the weight of a switch's event; *text* is what follows the number."""
    known = sxids().get(code)
    values = _kept(LINK.search(text[:NEAR]))
    said = re.match(r", (Fatal|Non-fatal)\b", text)
    fatal = said[1] == "Fatal" if said else known is not None and known.severity == "critical"
    if fatal or (known is not None and known.always_fatal):
        return Event(severity="critical", fault="nvswitch_sxid_fatal", values=values)
    note = known is None or known.severity == "info"
    ended = known is not None and known.recovery == "none"
    severity: Severity = "info" if ended else "warning"
    return Event(severity=severity, note=note, fault="nvswitch_sxid_nonfatal", values=values)
