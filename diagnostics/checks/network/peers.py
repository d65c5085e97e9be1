"""What ibping and ping have in common: who answered, who did not, who could not be asked."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from collectors.facts.subject import Subject
from collectors.network.peers import Probe
from diagnostics.check import NODE
from diagnostics.finding import Evidence, Finding, Statement, Unseen, Well, found

NO_PEERS = "no peers in the settings: [network] peers"


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """How one tool's findings are called, and from which loss on they are above info."""

    tool: str
    unreachable: str
    loss: str
    loss_percent: float


def judge(
    probes: Sequence[Probe], words: Words, more: Callable[[Probe], Iterator[Finding]]
) -> Iterator[Statement]:
    """Judge each peer; *more* looks at those that lost nothing above the limit."""
    yield from unasked(probes)
    asked = [probe for probe in probes if probe.missing is None]
    silent = [probe for probe in asked if not probe.answered]
    if len(silent) == len(asked) > 1:
        yield _all_silent(silent, words)
    else:
        yield from (_silent(probe, words) for probe in silent)
    for probe in asked:
        if probe.answered and probe.lost_percent:
            yield lossy(probe, words)
        elif probe.answered:
            yield from more(probe)
    if answered := len(asked) - len(silent):
        yield Well(message=f"{answered} of {len(asked)} peers answer {words.tool}")


def unasked(probes: Sequence[Probe]) -> Iterator[Unseen]:
    """Yield one statement for each reason: a tool that is absent is absent for all peers."""
    reasons = {probe.missing.why(): probe.missing for probe in probes if probe.missing}
    yield from (Unseen(missing=missing) for missing in reasons.values())


def subject(probe: Probe) -> Subject:
    """Return the peer as the subject of a finding."""
    return Subject(kind="node", name=probe.peer, peer=probe.peer)


def at(probe: Probe, words: Words) -> str:
    """Return the peer's address in words; ibping's bare number is a LID."""
    return (
        f"LID {probe.target}" if words.tool == "ibping" and probe.target.isdigit() else probe.target
    )


def evidence(probe: Probe, words: Words) -> Evidence:
    """Return the tool's own line."""
    values = {"target": probe.target, "sent": probe.sent, "received": probe.received}
    return Evidence(source=words.tool, text=probe.said, values=values)


def _silent(probe: Probe, words: Words) -> Finding:
    return found(
        words.unreachable,
        "warning",
        subject(probe),
        "{peer} ({target}) answered none of {sent} {tool} packets"
        if probe.sent
        else "{tool} cannot reach {peer} ({target}): {said}",
        evidence(probe, words),
        variant="" if probe.sent else "unsent",
        peer=probe.peer,
        target=at(probe, words),
        sent=probe.sent,
        tool=words.tool,
        said=probe.said,
    )


def _all_silent(silent: Sequence[Probe], words: Words) -> Finding:
    """When nobody answers, the one thing that all ways share is this node."""
    return found(
        words.unreachable,
        "warning",
        NODE,
        "none of {silent} peers answers {tool} from this node: {peers}",
        *(evidence(probe, words) for probe in silent),
        variant="all",
        silent=len(silent),
        tool=words.tool,
        peers=", ".join(probe.peer for probe in silent),
    )


def lossy(probe: Probe, words: Words) -> Finding:
    """Return that some packets were lost."""
    return found(
        words.loss,
        "warning" if probe.lost_percent > words.loss_percent else "info",
        subject(probe),
        "{lost} of {sent} {tool} packets to {peer} ({target}) were lost",
        evidence(probe, words),
        lost=probe.sent - probe.received,
        sent=probe.sent,
        tool=words.tool,
        peer=probe.peer,
        target=at(probe, words),
    )
