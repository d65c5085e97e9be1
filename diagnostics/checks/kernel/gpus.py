"""What the kernel's lines about one GPU or switch have to do with each other."""

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from diagnostics.finding import RANK
from diagnostics.knowledge.codes.events import ECHO_S
from diagnostics.knowledge.codes.recovery import Advice, Heard, recovery
from diagnostics.rules.kernel import KernelHit

REMOVED, RECOVERY_ACTION = 45, 154


def events(hits: Sequence[KernelHit]) -> list[KernelHit]:
    """Return the hits without those lines that repeat the code of an event that is there."""
    there = {(hit.name, hit.values.get("sxid")) for hit in hits if not hit.follows}
    return [
        hit for hit in hits if not hit.follows or (hit.name, hit.values.get("sxid")) not in there
    ]


def wished(hits: Sequence[KernelHit], past: Callable[[KernelHit], bool]) -> list[KernelHit]:
    """Return the hits, those of Xid 154 as notes where the fault that they speak of is there.

    That fault then weighs what the driver's wish weighs; alone, the wish is all that is known.
    """
    told = list(hits)
    for at, wish in enumerate(hits):
        if wish.values.get("xid") != RECOVERY_ACTION or wish.severity == "info":
            continue
        of_it = (n for n, hit in enumerate(told) if _faulty(hit, wish) and not past(hit))
        first = max(of_it, key=lambda n: (RANK[told[n].severity], told[n].first.age_s), default=-1)
        if first < 0:
            continue
        severity = max(told[first].severity, wish.severity, key=RANK.__getitem__)
        told[first] = msgspec.structs.replace(told[first], severity=severity)
        told[at] = msgspec.structs.replace(wish, severity="info")
    return told


def _faulty(hit: KernelHit, wish: KernelHit) -> bool:
    of_gpu = (hit.about, hit.name) == (wish.about, wish.name)
    a_fault = not hit.note and hit.severity != "info"
    return of_gpu and a_fault and hit.values.get("xid") not in (None, REMOVED, RECOVERY_ACTION)


def echoed(hit: KernelHit, hits: Iterable[KernelHit]) -> int | None:
    """Return the Xid that removed a process's channels, None for another line and for none.

    Newer drivers say it in the line; else it is the first Xid of the same GPU seconds before, or of
    the same process on another one.
    """
    if hit.values.get("xid") != REMOVED:
        return None
    said = hit.values.get("after_xid")
    if isinstance(said, int):
        return said
    before = (other for other in hits if _precedes(other, hit))
    first = max(before, key=lambda other: other.first.age_s, default=None)
    return None if first is None else int(first.values["xid"])


def _precedes(other: KernelHit, hit: KernelHit) -> bool:
    of_gpu = other.name == hit.name and other.about == hit.about
    if other.values.get("xid") in (None, REMOVED, RECOVERY_ACTION):
        return False
    if not of_gpu and not _one_process(other, hit):
        return False
    began = other.first.age_s >= hit.first.age_s
    return began and other.last.age_s - hit.first.age_s <= ECHO_S


def _one_process(other: KernelHit, hit: KernelHit) -> bool:
    """Return whether both lines name one process: it has channels on each GPU that it uses."""
    pid = hit.values.get("pid")
    return isinstance(pid, int) and pid > 0 and other.values.get("pid") == pid


def advised(
    told: KernelHit, same: Sequence[KernelHit], now: Collection[KernelHit]
) -> Advice | None:
    """Return what brings the thing back that *told* is about; *now* are the hits that still count.

    All that is heard of one GPU has one answer; a program's own error has one of its own.
    """
    if told.note or told.values.get("xid") == REMOVED:
        return recovery(_heard(same))
    of_it = [hit for hit in now if (hit.about, hit.name) == (told.about, told.name)]
    return recovery(_heard(of_it), xid_154=_stated(told, of_it))


def _stated(told: KernelHit, of_it: Iterable[KernelHit]) -> int | None:
    values = (hit.values.get("recovery_action") for hit in (told, *of_it))
    return next((value for value in values if isinstance(value, int)), None)


def _heard(hits: Iterable[KernelHit]) -> tuple[Heard, ...]:
    found = []
    for hit in hits:
        xid, sxid = hit.values.get("xid"), hit.values.get("sxid")
        if isinstance(xid, int) and xid not in (REMOVED, RECOVERY_ACTION):
            found.append(Heard(code=xid, sub_event=hit.recovery))
        elif isinstance(sxid, int):
            found.append(Heard(code=sxid, switch=True, sub_event=hit.recovery))
    return tuple(found)
