"""Do packets of the interface's full size reach the peers."""

from collections.abc import Iterator

from collectors.facts.subject import Subject
from collectors.network.full_mtu import FullSize, FullSizes
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found


@check("network.full_mtu", stage="network", faults=("mtu_mismatch",), proved="real-tool")
def full_mtu(seen: FullSizes) -> Iterator[Statement]:
    """Each peer that answers small packets answers packets of this node's full MTU, too.

    They are sent so that nobody on the way may break them (DF). Where only they are lost, a job
    connects and then hangs in its first large transfer: one end, or a switch between, is set to a
    smaller MTU.
    """
    if not seen.peers:
        yield NotApplicable(why="no peer with an address answers ping")
        return
    reasons = {one.missing.why(): one.missing for one in seen.peers if one.missing}
    yield from (Unseen(missing=missing) for missing in reasons.values())
    asked = [one for one in seen.peers if one.missing is None]
    yield from (_lost(one) for one in asked if not one.received)
    if whole := [one for one in asked if one.received]:
        sizes = ", ".join(str(mtu) for mtu in sorted({one.mtu for one in whole}))
        yield Well(message=f"{len(whole)} of {len(asked)} peers answer packets of MTU {sizes}")


def _lost(one: FullSize) -> Finding:
    return found(
        "mtu_mismatch",
        "warning",
        Subject(kind="node", name=one.peer, peer=one.peer),
        "{peer} ({target}) answers small packets, and none of {sent} of {mtu} bytes, the MTU of "
        "{interface} here",
        Evidence(
            source="ping -M do",
            text=one.said,
            values={"sent": one.sent, "received": one.received, "mtu": one.mtu},
        ),
        variant="to_peer",
        peer=one.peer,
        target=one.target,
        sent=one.sent,
        mtu=one.mtu,
        interface=one.interface,
    )
