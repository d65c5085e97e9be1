"""The part of a diagnosis that is about one job: its ranks and logs, and what explains it."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from diagnostics.document import Document
from diagnostics.finding import Verdict


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What of this node belongs to the job: its processes, GPUs by /dev/nvidiaN, and logs."""

    name: str
    pids: frozenset[int]
    ranks: tuple[int, ...] = ()
    minors: frozenset[int] = frozenset()
    logs: frozenset[str] = frozenset()


def of_job(document: Document, job: Job) -> Document:
    """Return *document* with what is about the job, and whatever explains that."""
    by_id = {finding["id"]: finding for finding in document.findings}
    keep: set[str] = set()
    for finding in document.findings:
        above: str | None = finding["id"] if _about(finding, job) else None
        while above is not None and above not in keep:
            keep.add(above)
            above = by_id[above].get("explained_by") if above in by_id else None
    findings = tuple(finding for finding in document.findings if finding["id"] in keep)
    incidents = tuple(one for one in document.incidents if one.root in keep)
    names = {one.id for one in incidents}
    return msgspec.structs.replace(
        document,
        findings=findings,
        incidents=incidents,
        root_causes=tuple(cause for cause in document.root_causes if cause in keep),
        plan=tuple(line for line in document.plan if line.incident in names),
        verdict=_verdict(findings),
    )


def _about(finding: Mapping[str, Any], job: Job) -> bool:
    subject = finding["subject"]
    if subject.get("job") == job.name or subject.get("pid") in job.pids:
        return True
    if subject["kind"] == "gpu" and subject.get("index") in job.minors:
        return True
    sources = [evidence["source"].partition(" from byte ")[0] for evidence in finding["evidence"]]
    return subject["kind"] in ("log", "rank") and not job.logs.isdisjoint(sources)


def _verdict(findings: Collection[Mapping[str, Any]]) -> Verdict:
    severities = {finding["severity"] for finding in findings}
    if "critical" in severities:
        return "fault"
    if any(finding["fault"] == "check_not_run" for finding in findings):
        return "unknown"
    return "warning" if "warning" in severities else "ok"
