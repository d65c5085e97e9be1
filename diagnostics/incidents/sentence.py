"""The sentence of an incident: what failed, when, whose job it stopped, what the others did."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from diagnostics.finding import Finding, Text
from diagnostics.incidents.outlook import clock

# The clauses after the first, which is the root's own message; `text.key` names them.
CLAUSES = {
    "incident.since": "since {time}",
    "incident.serial": "its serial number is {serial}",
    "incident.rank_stopped": "rank {rank} of job {job} stopped there",
    "incident.rank_stopped_unnamed": "rank {rank} stopped there",
    "incident.rank_silent": "{count} ranks waited {seconds} s and gave up, all but rank {rank}",
    "incident.ranks_waited": "{count} ranks waited {seconds} s and gave up",
    "incident.ranks_gave_up": "{count} ranks gave up waiting",
    "incident.follows_one": "1 other finding follows from it",
    "incident.follows": "{count} other findings follow from it",
}
WAITED = "nccl_collective_timeout"


def clauses(root: Finding, follows: Sequence[Finding]) -> list[Text]:
    """Return, as data, what follows the root's own message."""
    waited = list(_waited(f for f in follows if f.fault == WAITED))
    told = [*_when(root), *_stopped((root, *follows)), *waited]
    if rest := len(follows) - len(waited):
        key = "incident.follows_one" if rest == 1 else "incident.follows"
        told.append(Text(key=key, args={} if rest == 1 else {"count": rest}))
    return told


def written(root: Finding, told: Sequence[Text]) -> str:
    """Return the English sentence: the root's message, then its clauses."""
    said = root.message
    # A process or file that stands first keeps its own spelling.
    if not any(str(value) and said.startswith(str(value)) for value in root.text.args.values()):
        said = said[:1].upper() + said[1:]
    return "; ".join([said, *(CLAUSES[one.key].format(**one.args) for one in told)]) + "."


def _when(root: Finding) -> Iterator[Text]:
    if root.first_seen is not None:
        yield Text(key="incident.since", args={"time": clock(root.first_seen)})
    if root.subject.kind == "gpu" and root.subject.serial:
        yield Text(key="incident.serial", args={"serial": root.subject.serial})


def _stopped(findings: Sequence[Finding]) -> list[Text]:
    """Return whose rank it stopped, where a finding of a process or a rank names it."""
    for finding in findings:
        subject = finding.subject
        # Who writes of a timeout waits for another one.
        if subject.rank is None or finding.fault == WAITED or subject.kind == "log":
            continue
        if subject.job is not None:
            args: dict[str, Any] = {"rank": subject.rank, "job": subject.job}
            return [Text(key="incident.rank_stopped", args=args)]
        return [Text(key="incident.rank_stopped_unnamed", args={"rank": subject.rank})]
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
            yield Text(key="incident.ranks_gave_up", args={"count": count})
            return
        args: dict[str, Any] = {"count": count, "seconds": max(waits)}
        absent = sorted(set(range(min(ranks), max(ranks) + 1)) - set(ranks))
        if len(absent) == 1:
            key = "incident.rank_silent"
            yield Text(key=key, args={**args, "rank": absent[0]})
        else:
            yield Text(key="incident.ranks_waited", args=args)
        return
