"""What the kernel's lines about one GPU or switch have to do with each other."""

from collections.abc import Collection, Iterable, Sequence

from diagnostics.knowledge.codes.recovery import Advice, Heard, recovery
from diagnostics.rules.kernel import KernelHit

# Channels are torn down at once, one line each; an 8-GPU job's take a few seconds.
ECHO_S = 10.0
REMOVED, RECOVERY_ACTION = 45, 154


def events(hits: Sequence[KernelHit]) -> list[KernelHit]:
    """Return the hits without those lines that repeat the code of an event that is there."""
    there = {(hit.name, hit.values.get("sxid")) for hit in hits if not hit.follows}
    return [
        hit for hit in hits if not hit.follows or (hit.name, hit.values.get("sxid")) not in there
    ]


def echoed(hit: KernelHit, hits: Iterable[KernelHit]) -> int | None:
    """Return the Xid that removed a process's channels, None for another line and for none.

    Newer drivers say it in the line; else it is the first Xid of the same GPU seconds before.
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
    if not of_gpu or other.values.get("xid") in (None, REMOVED, RECOVERY_ACTION):
        return False
    began = other.first.age_s >= hit.first.age_s
    return began and other.last.age_s - hit.first.age_s <= ECHO_S


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
