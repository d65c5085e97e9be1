"""What the silence of peers over InfiniBand says: a fault, a partition, or nothing yet."""

from collections.abc import Iterator, Sequence

import msgspec

from collectors.network.peers import Probe
from diagnostics.check import NODE
from diagnostics.checks.network.bad_end import bad_end
from diagnostics.checks.network.peers import Words, at, evidence, subject
from diagnostics.finding import Evidence, Finding, found

WORDS = Words(tool="ibping", unreachable="ib_ping_unreachable", loss="ib_ping_loss", loss_percent=0)
SELF, OTHERS = "this node", "others"
# Who answered at about the time of a failure says something of it: two rounds of probes.
SAME_TIME_S = 600.0


def told(silent: Sequence[Probe], asked: Sequence[Probe], *, active: bool) -> Iterator[Finding]:
    """Yield what is said of the silent ones among all that were asked, by *active* ports or not."""
    moved = [probe for probe in silent if _moved(probe)]
    yield from map(_elsewhere, moved)
    there = [probe for probe in silent if probe not in moved]
    proved = [probe for probe in there if _proved(probe, asked)]
    yield from (_one(probe, asked) for probe in proved if not _ours(probe, asked))
    if ours := [probe for probe in proved if _ours(probe, asked)]:
        yield _own_end(ours)
    unknown = [probe for probe in there if probe not in proved]
    if unknown and len(unknown) == len(asked) and active:
        yield _not_possible(unknown)
    else:
        yield from map(_unproved, unknown)


def _moved(probe: Probe) -> bool:
    """Return whether the peer's port has another LID than the one that was asked."""
    lid = probe.theirs.lid if probe.theirs else None
    return lid is not None and probe.target.isdecimal() and lid != int(probe.target)


def _proved(probe: Probe, asked: Sequence[Probe]) -> bool:
    """Return whether this way worked or should have, and the peer is said to serve still."""
    return probe.serves and (probe.answered_s is not None or _both_worked(probe, asked))


def _both_worked(probe: Probe, asked: Sequence[Probe]) -> bool:
    """Return whether both ends were answered by others, and nothing is known to part the two.

    Rails may be fabrics of their own, so of a way from one to another this says nothing.
    """
    theirs = probe.theirs
    if theirs is None or not theirs.reachable or probe.peer_rail:
        return False
    return any(
        other.answered or other.answered_s is not None
        for other in asked
        if other.rail == probe.rail and other.peer != probe.peer and not other.peer_rail
    )


def _tried(probe: Probe, asked: Sequence[Probe]) -> dict[tuple[str, str], bool]:
    """Return who answered this node, and whether anybody the peer, at about that time."""
    tried = {
        (SELF, other.peer): other.answered
        for other in asked
        if other.rail == probe.rail
        and abs(other.age_s - probe.age_s) <= SAME_TIME_S
        # A peer that never answered says nothing about either end.
        and (other.answered or (other.answered_s is not None and other.serves))
    }
    theirs = probe.theirs
    # Its last answer must be no older than the failure: before it everything may have worked.
    if theirs is not None and theirs.worked_s <= probe.age_s:
        tried[probe.peer, OTHERS] = True
    return tried


def _ours(probe: Probe, asked: Sequence[Probe]) -> bool:
    return bad_end(SELF, probe.peer, _tried(probe, asked)) == "first"


def _one(probe: Probe, asked: Sequence[Probe]) -> Finding:
    tried = _tried(probe, asked)
    good = [peer for (end, peer), answered in tried.items() if answered and end == SELF]
    between = bad_end(SELF, probe.peer, tried) == "between"
    if probe.answered_s is None:
        return _apart(probe, len(good), between=between)
    if between:
        return _between(probe, len(good))
    return found(
        "ib_ping_unreachable",
        "warning",
        subject(probe),
        "{peer} ({target}) answered none of {sent} ibping packets; it did {ago} s ago, and "
        "{good} other {nodes} now: the bad end is there"
        if good
        else "{peer} ({target}) answered none of {sent} ibping packets; it did {ago} s ago",
        *_both_ends(probe),
        variant="there" if good else "",
        confidence=0.9 if good else 0.7,
        peer=probe.peer,
        target=at(probe, WORDS),
        sent=probe.sent,
        ago=round(probe.answered_s),
        good=len(good),
        nodes="node does" if len(good) == 1 else "nodes do",
    )


def _between(probe: Probe, good: int) -> Finding:
    return found(
        "ib_ping_unreachable",
        "warning",
        subject(probe),
        "{peer} ({target}) answered none of {sent} ibping packets; it did {ago} s ago. It gets "
        "answers from others since then, and {good} other {nodes} answer here: what is bad lies "
        "between the two",
        *_both_ends(probe),
        variant="between",
        confidence=0.8,
        peer=probe.peer,
        target=at(probe, WORDS),
        sent=probe.sent,
        ago=round(probe.answered_s or 0.0),
        good=good,
        nodes="node" if good == 1 else "nodes",
    )


def _apart(probe: Probe, good: int, *, between: bool) -> Finding:
    """Return that two do not meet that should: this way itself was never seen to work."""
    return found(
        "ib_ping_unreachable",
        "warning",
        subject(probe),
        "{peer} ({target}) answered none of {sent} ibping packets and never did, though its server "
        "runs, its P_Key fits and others answer both ends; {good} answer here now, and {theirs} s "
        "ago others answered there: what is bad lies between the two"
        if between
        else "{peer} ({target}) answered none of {sent} ibping packets and never did, though its "
        "server runs, its P_Key fits and others have answered both ends since boot; {good} answer "
        "here now, and the last to answer there did {theirs} s ago",
        *_both_ends(probe),
        variant="apart_between" if between else "apart",
        confidence=0.6,
        peer=probe.peer,
        target=at(probe, WORDS),
        sent=probe.sent,
        good=good,
        theirs=round(probe.theirs.worked_s) if probe.theirs else 0,
    )


def _both_ends(probe: Probe) -> Iterator[Evidence]:
    yield evidence(probe, WORDS)
    if probe.theirs is not None:
        values = msgspec.structs.asdict(probe.theirs)
        yield Evidence(source=f"agent of {probe.peer}, by the aggregator", values=values)


def _elsewhere(probe: Probe) -> Finding:
    return found(
        "ib_ping_unreachable",
        "info",
        subject(probe),
        "{peer} gives no answer to ibping at {target}: its own agent says that it has LID {lid}; "
        "the settings name an old one, and a port_guid would outlive a new subnet manager",
        *_both_ends(probe),
        variant="moved",
        peer=probe.peer,
        target=at(probe, WORDS),
        lid=probe.theirs.lid if probe.theirs else None,
    )


def _own_end(silent: Sequence[Probe]) -> Finding:
    """When nobody answers who did before, the one thing that all ways share is this node."""
    return found(
        "ib_ping_unreachable",
        "warning",
        NODE,
        "none of {silent} peers answers ibping from this node any more: {peers}; the bad end is "
        "here",
        *(evidence(probe, WORDS) for probe in silent),
        variant="here",
        silent=len(silent),
        peers=", ".join(probe.peer for probe in silent),
    )


def _unproved(probe: Probe) -> Finding:
    return found(
        "ib_ping_unreachable",
        "info",
        subject(probe),
        "{peer} ({target}) gives no answer to ibping: {said}; that it ever did, or that its server "
        "runs, is not known",
        evidence(probe, WORDS),
        variant="unproved",
        confidence=0.5,
        peer=probe.peer,
        target=at(probe, WORDS),
        said=probe.said,
    )


def _not_possible(silent: Sequence[Probe]) -> Finding:
    return found(
        "ib_partition_blocks_probe",
        "info",
        NODE,
        "ibping is not possible here: none of {silent} peers has ever answered, though this node's "
        "port is ACTIVE (partition, M_Key, or no server on the peers)",
        *(evidence(probe, WORDS) for probe in silent),
        confidence=0.7,
        silent=len(silent),
    )
