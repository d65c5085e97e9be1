"""The tables of codes: written by deploy/dev/make_codes.py from `sources/`, read here."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, TypeVar

import msgspec

from diagnostics import package_data
from diagnostics.finding import Severity

Recovery = Literal[
    "none",
    "watch",
    "restart_job",
    "reset_gpu",
    "drain_and_reset",
    "stop_peers",
    "reset_fabric",
    "restart_fabric_manager",
    "reboot_node",
    "check_power_and_cables",
    "update_software",
    "run_diagnostics",
    "call_vendor",
]
Class = Literal["program", "driver", "hardware", "fabric", "power", "thermal", "notice", "unused"]
Generation = Literal["Ampere", "Hopper", "Blackwell", "GB200", "newest", "A100", "H100"]


class Code(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One number: the driver's name for it, what it means, and how it usually ends.

    `severity` is that of a node on which it stands alone; a sub-event may weigh more or less.
    `generations` is empty where no GPU of today prints it. `apart` says how to tell it from others.
    """

    code: int
    name: str
    kind: Class = msgspec.field(name="class")
    severity: Severity
    recovery: Recovery
    generations: tuple[Generation, ...] = ()
    meaning: str
    apart: str = ""


class Xid(Code, frozen=True, kw_only=True, omit_defaults=True):
    """An Xid; where `told_by_154`, the driver states the recovery that it wants in an Xid 154."""

    told_by_154: bool = False


class SXid(Code, frozen=True, kw_only=True, omit_defaults=True):
    """An SXid of an NVSwitch.

    `printed` is the word in its line: fatal or nonfatal; `containment`, which makes it fatal where
    containment is on; `either` where switches differ; `own` where the line has no such word.
    """

    printed: Literal["fatal", "nonfatal", "containment", "either", "own", ""] = ""
    always_fatal: bool = False


class Sub(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sub-event of Xid 144 to 150: a unit, and there an error status or a reason for link down.

    The number of the unit stands in bits 9-5 of the first word up to driver 570 and in bits 6-0
    from 575 on. `as_154` leaves the recovery to the Xid 154 that follows.
    """

    xid: int
    unit: tuple[str, ...]
    unit_before_575: int
    unit_from_575: int
    reason: int | None = None
    status: int | None = None
    severity: Literal["nonfatal", "fatal", "link_fatal"]
    recovery: Recovery | Literal["as_154"]
    look: str
    origin: Literal["hw", "sw", "hw/sw", "fw", "none"]


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What some bits of one register word of Xid 74 mean; words count from 1."""

    word: int
    bits: tuple[int, ...]
    group: str
    recovery: Recovery
    meaning: str


T = TypeVar("T")


def _read(name: str, form: type[T]) -> Sequence[T]:
    text = package_data.data("diagnostics.knowledge", f"codes/{name}.json")
    return msgspec.json.decode(text, type=list[form])  # type: ignore[valid-type] # a type as value


@cache
def xids() -> Mapping[int, Xid]:
    """Return the Xids by number."""
    return {code.code: code for code in _read("xid", Xid)}


@cache
def sxids() -> Mapping[int, SXid]:
    """Return the SXids by number."""
    return {code.code: code for code in _read("sxid", SXid)}


@cache
def subs() -> Mapping[int, tuple[Sub, ...]]:
    """Return the sub-events of NVLink 5 by Xid."""
    found: dict[int, tuple[Sub, ...]] = {}
    for sub in _read("nvlink5", Sub):
        found[sub.xid] = (*found.get(sub.xid, ()), sub)
    return found


@cache
def words() -> tuple[Word, ...]:
    """Return the meanings of the register words of Xid 74."""
    return tuple(_read("nvlink74", Word))
