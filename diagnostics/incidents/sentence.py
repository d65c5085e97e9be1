"""The sentence of an incident: what failed, when, whose job it stopped, what the others did."""

from collections.abc import Iterable, Iterator, Sequence

from diagnostics.finding import Finding, Text
from diagnostics.incidents.clauses import clock, said, text

WAITED = "nccl_collective_timeout"


def clauses(root: Finding, follows: Sequence[Finding]) -> list[Text]:
    """Return, as data, what follows the root's own message."""
    waited = list(_waited(f for f in follows if f.fault == WAITED))
    told = [*_when(root), *_stopped((root, *follows)), *waited]
    if rest := len(follows) - len(waited):
        one = text("incident.follows_one")
        told.append(one if rest == 1 else text("incident.follows", count=rest))
    return told


def written(root: Finding, told: Sequence[Text]) -> str:
    """Return the English sentence: the root's message, then its clauses."""
    own = root.message
    # A process or file that stands first keeps its own spelling.
    if not any(str(value) and own.startswith(str(value)) for value in root.text.args.values()):
        own = own[:1].upper() + own[1:]
    return "; ".join([own, *map(said, told)]) + "."


def _when(root: Finding) -> Iterator[Text]:
    if root.first_seen is not None:
        yield text("incident.since", time=clock(root.first_seen))
    if root.subject.kind == "gpu" and root.subject.serial:
        yield text("incident.serial", serial=root.subject.serial)


def _stopped(findings: Sequence[Finding]) -> list[Text]:
    """Return whose rank it stopped, where a finding of a process or a rank names it."""
    for finding in findings:
        subject = finding.subject
        # Who writes of a timeout waits for another one.
        if subject.rank is None or finding.fault == WAITED or subject.kind == "log":
            continue
        if subject.job is not None:
            return [text("incident.rank_stopped", rank=subject.rank, job=subject.job)]
        return [text("incident.rank_stopped_unnamed", rank=subject.rank)]
    return []


def _waited(timeouts: Iterable[Finding]) -> Iterator[Text]:
    for timeout in timeouts:
        ranks = timeout.subject.ranks or ()
        count = len(ranks) or (1 if timeout.subject.rank is not None else 0)
        if count <= 1:
            continue
        ran = [e.values.get("ran_ms") for e in timeout.evidence]
        waits = [one // 1000 for one in ran if isinstance(one, int)]
        if not waits:
            yield text("incident.ranks_gave_up", count=count)
            return
        absent = sorted(set(range(min(ranks), max(ranks) + 1)) - set(ranks))
        if len(absent) == 1:
            silent = absent[0]
            yield text("incident.rank_silent", count=count, seconds=max(waits), rank=silent)
        else:
            yield text("incident.ranks_waited", count=count, seconds=max(waits))
        return
