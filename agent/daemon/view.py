"""What a user of this node is let see: its health, and of jobs and processes only his own."""

from collections.abc import Mapping
from typing import Any

import msgspec

from collectors.host.holders import Holder

# Subjects that are somebody's; the others are the node's.
PRIVATE_KINDS = frozenset({"process", "job", "rank", "log"})
PRIVATE_KEYS = ("job", "pid", "rank", "ranks", "user")
HIDDEN = "concerns another user's work"


class Owners(msgspec.Struct, frozen=True, kw_only=True):
    """Which user each job and each process with a GPU belongs to."""

    jobs: Mapping[str, int] = {}
    pids: Mapping[int, int] = {}

    def of(self, subject: Mapping[str, Any]) -> int | None:
        """Return whose *subject* is; None where that is not known."""
        pid, job = subject.get("pid"), subject.get("job")
        if isinstance(pid, int) and pid in self.pids:
            return self.pids[pid]
        return self.jobs.get(str(job)) if job is not None else None


def owners(holders: tuple[Holder, ...]) -> Owners:
    """Return the owners that the holders of GPUs tell of."""
    pids = {holder.pid: holder.uid for holder in holders if holder.uid is not None}
    jobs = {
        holder.job: uid
        for holder in holders
        if holder.job is not None and (uid := holder.owner.uid or holder.uid) is not None
    }
    return Owners(jobs=jobs, pids=pids)


def restricted(document: dict[str, Any], uid: int, known: Owners) -> dict[str, Any]:
    """Return *document*, in plain JSON, without what belongs to others than *uid*.

    What cannot be told to be his is not his. Evidence stays out: a log line may name anybody.
    """
    shown = [f for f in document["findings"] if _may_see(f["subject"], uid, known)]
    ids = {finding["id"] for finding in shown}
    closed = {f["check"] for f in document["findings"] if f["id"] not in ids}
    by_id = {finding["id"]: finding for finding in shown}
    incidents = [
        _incident(incident, by_id) for incident in document["incidents"] if incident["root"] in ids
    ]
    open_incidents = {incident["id"] for incident in incidents}
    return {
        **document,
        "stages": [_stage(stage, ids, closed) for stage in document["stages"]],
        "findings": [_without_evidence(finding, ids, uid, known) for finding in shown],
        "root_causes": [root for root in document["root_causes"] if root in ids],
        "incidents": incidents,
        "jobs": [job for job in document["jobs"] if known.of(job) == uid],
        "plan": [line for line in document["plan"] if line["incident"] in open_incidents],
    }


def _incident(incident: dict[str, Any], shown: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return an incident as its root alone tells it, where others' findings follow from it."""
    follows = [name for name in incident["consequences"] if name in shown]
    told = {**incident, "consequences": follows}
    if len(follows) == len(incident["consequences"]) and not incident.get("rejected"):
        return told
    root = shown[incident["root"]]
    closed: dict[str, Any] = {"sentence": f"{root['message']}.", "text": root["text"]}
    closed |= {"would_change": "", "would_change_text": None}
    return {**told, **closed, "story": [], "rejected": [], "echoes": {}}


def _may_see(subject: Mapping[str, Any], uid: int, known: Owners) -> bool:
    private = subject["kind"] in PRIVATE_KINDS or any(
        subject.get(key) is not None for key in PRIVATE_KEYS
    )
    return not private or known.of(subject) == uid


def _without_evidence(
    finding: dict[str, Any], ids: set[str], uid: int, known: Owners
) -> dict[str, Any]:
    cause = finding["explained_by"] if finding["explained_by"] in ids else None
    evidence = finding["evidence"] if known.of(finding["subject"]) == uid else []
    return {**finding, "explained_by": cause, "evidence": evidence}


def _stage(stage: dict[str, Any], ids: set[str], closed: set[str]) -> dict[str, Any]:
    held_by = stage["held_back_by"] if stage["held_back_by"] in ids else None
    checks = [
        {**check, "message": HIDDEN} if check["check"] in closed else check
        for check in stage["checks"]
    ]
    return {**stage, "held_back_by": held_by, "checks": checks}
