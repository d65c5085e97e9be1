"""What NVLink's Xids say: the register words of 74, the sub-events of 144 to 150."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from diagnostics.expression import Expression
from diagnostics.finding import RANK, Severity
from diagnostics.knowledge.codes.tables import Recovery, Sub, Word, subs, words

# NVLink: fatal error detected on link 11(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)
REGISTERS = Expression(r"\blink (?P<link>\d{1,3}) ?\((?P<words>0x[0-9a-fA-Fx, ]{1,90})\)")
# NVLink: failed to train link 3 to remote PCI:0000:8f:00
TRAINING = Expression(r"\btrain(?:ing)?\b.{0,20}? link (?P<link>\d{1,3})\b")
# NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000 0x00000000 ...)
# MSE_WATCHDOG Fatal XC0 i0 Link -1
SUB = Expression(
    r"(?P<unit>\b[A-Z][A-Za-z0-9_]{2,40}) {1,8}(?:Link )?(?P<word>Fatal|Non-?fatal)\b"
    r"(?:.{0,20}? Link (?P<link>-?\d{1,3}))?"
    r"(?: ?\((?P<intr>0x[0-9a-fA-F]{1,8})[ ,]{1,2}(?P<status>0x[0-9a-fA-F]{1,8}))?"
)

WEIGHT: Mapping[str, Severity] = {"ignored": "info", "corrected": "info", "follows": "warning"}
# What stands in a link-down event behind the number of its reason.
LOOK: Mapping[str, str] = {
    "vendor": "a report to the vendor",
    "nothing": "nothing",
    "access": "the program's access to a peer",
    "follows": "the Xid beside it; this one follows from it",
    "repeat": "whether it comes more than once a day",
    "signal": "the signal of this link",
    "software": "what software or a person did to the link",
    "software_or_signal": "software first, then the signal of this link",
    "peer": "the device at the other end",
    "host": "the host",
    "cable": "seat, connector and cable of this link",
}
PARTED = frozenset({"NETIR_BER_EVENT", "NETIR_MFDE_EVENT"})
# intrInfo has bit 10 up to driver 570, bit 7 from 575 on, where RLW_RXPIPE needs a reset.
RXPIPE, RESET_BEFORE_575, RESET_FROM_575 = "RLW_RXPIPE", 1 << 10, 1 << 7
REASON = 20
SIX_BITS, UNIT_BEFORE_575, UNIT_FROM_575 = 0x3F, 5, 0x7F


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of a link says; `worth` is False where the vendor's table says to ignore it."""

    severity: Severity
    recovery: Recovery | None
    group: str
    values: Mapping[str, Any]
    worth: bool = True


def registers(text: str) -> Told | None:
    """Return what the seven words of an Xid 74 say, None where the line has none."""
    hit = REGISTERS.search(text)
    if hit is None:
        return _training(text)
    found = re.findall(r"0x([0-9a-fA-F]{1,8})\b", hit["words"])[:7]
    values = tuple(int(word, 16) for word in found)
    said = tuple(word for word in words() if _bits(word, values))
    gravest = max(said, key=_weight, default=None)
    told = {"link": int(hit["link"]), "words": [hex(value) for value in values]}
    if gravest is None:
        return Told(severity="critical", recovery="reset_gpu", group="unknown", values=told)
    told |= {"says": [word.meaning for word in said], "group": gravest.group}
    return Told(
        severity=_severity(gravest),
        recovery=gravest.recovery,
        group=gravest.group,
        values=told,
    )


def _training(text: str) -> Told | None:
    hit = TRAINING.search(text)
    if hit is None:
        return None
    values = {"link": int(hit["link"]), "group": "training"}
    return Told(severity="critical", recovery="reset_gpu", group="training", values=values)


def _bits(word: Word, values: tuple[int, ...]) -> bool:
    value = values[word.word - 1] if len(values) >= word.word else 0
    return any(value >> bit & 1 for bit in word.bits)


def _severity(word: Word) -> Severity:
    return WEIGHT.get(word.group, "critical")


def _weight(word: Word) -> int:
    return RANK[_severity(word)]


def sub_event(xid: int, text: str) -> Told | None:
    """Return what a line of Xid 144 to 150 says, None where it names no unit."""
    hit = SUB.search(text)
    if hit is None:
        return None
    intr, status = (int(hit[name], 16) if hit[name] else None for name in ("intr", "status"))
    fatal = hit["word"] == "Fatal"
    sub = _found(xid, hit["unit"], intr, status)
    values: dict[str, Any] = {"unit": hit["unit"], "fatal": fatal}
    if hit["link"] is not None:
        values["link"] = int(hit["link"])
    if intr is not None:
        values |= {"intr": hex(intr), "status": hex(status or 0)}
    if sub is not None:
        values |= {"look": LOOK[sub.look], "origin": sub.origin}
        if sub.reason is not None:
            values["reason"] = sub.reason
    return Told(
        severity=_sub_severity(sub, fatal=fatal),
        recovery=_sub_recovery(sub, intr, fatal=fatal),
        group=_group(sub, fatal=fatal),
        values=values,
        worth=sub is None or sub.look != "nothing",
    )


def _group(sub: Sub | None, *, fatal: bool) -> str:
    """Return what tells the line from others of its Xid: its row, and its own word."""
    word = "fatal" if fatal else "nonfatal"
    return word if sub is None else f"{sub.unit[0]}.{sub.reason}.{sub.status}.{word}"


def _found(xid: int, unit: str, intr: int | None, status: int | None) -> Sub | None:
    """Return the row of the table: by reason for a link that went down, else by error status."""
    of_unit = [sub for sub in subs().get(xid, ()) if unit in sub.unit]
    if not of_unit or (intr is None and len(of_unit) > 1):
        return None
    if of_unit[0].reason is not None:
        reason = (intr or 0) >> REASON & SIX_BITS
        return next((sub for sub in of_unit if sub.reason == reason), None)
    exact = (sub for sub in of_unit if sub.status in (None, status))
    if (row := next(exact, None)) is not None or unit in PARTED:
        return row
    parts = [sub for sub in of_unit if sub.status and (status or 0) & sub.status]
    return _gravest(parts)


def _gravest(rows: Iterable[Sub]) -> Sub | None:
    return max(rows, key=lambda sub: sub.severity != "nonfatal", default=None)


def _sub_severity(sub: Sub | None, *, fatal: bool) -> Severity:
    """Return the graver of the line's own word and the table; they disagree at some statuses."""
    if fatal:
        # A link that software took down on purpose is fatal for the link only.
        return "warning" if sub is not None and sub.recovery == "watch" else "critical"
    return "warning" if sub is not None and sub.severity != "nonfatal" else "info"


def _sub_recovery(sub: Sub | None, intr: int | None, *, fatal: bool) -> Recovery | None:
    if sub is None:
        return "reset_gpu" if fatal else "watch"
    if sub.recovery == "as_154":
        return None
    if RXPIPE in sub.unit and intr is not None and _resets(sub, intr):
        return "reset_gpu"
    return sub.recovery


def _resets(sub: Sub, intr: int) -> bool:
    """Say whether the line of RLW_RXPIPE has the bit of a reset, in the form of its driver."""
    if intr & UNIT_FROM_575 == sub.unit_from_575:
        return bool(intr & RESET_FROM_575)
    return intr >> UNIT_BEFORE_575 & 0x1F == sub.unit_before_575 and bool(intr & RESET_BEFORE_575)
