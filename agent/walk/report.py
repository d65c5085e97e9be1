"""From what the walk saw to the one document that all outputs show."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agent import BUILD
from agent.walk.walked import Walked
from collectors.node.protocol import Identity
from diagnostics import document
from diagnostics.check import NODE, Result
from diagnostics.document import CheckLine, Document, StageReport
from diagnostics.finding import Finding

if TYPE_CHECKING:
    from diagnostics.incidents.outlook import Looked
    from remediations.plan.situation import Acting
    from remediations.plan.standing import Standing


def iso(seconds: float) -> str:
    """Return a wall-clock time as ISO 8601 UTC with milliseconds."""
    moment = dt.datetime.fromtimestamp(seconds, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def build(
    walked: Sequence[Walked],
    identity: Identity | None,
    *,
    started: float | None,
    seconds: float | None,
    strict: bool,
    acting: "Acting | None" = None,
) -> Document:
    """Return the document of one walk; ids are given here, in the order of INTERFACES.

    *identity* is None where text was read that says of no node who it is. *acting* is what the plan
    rests on beside the walk.
    """
    raw = [f for stage in walked for result in stage.results for f in result.findings]
    built = Document(
        product=BUILD,
        node=identity.node if identity else None,
        boot_id=identity.boot_id if identity else None,
        simulated=identity is not None and identity.simulated,
        recorded=identity is not None and identity.recorded,
        started=None if started is None else iso(started),
        seconds=seconds,
        verdict="ok",
        stages=(),
        findings=(),
        jobs=tuple(job for stage in walked for job in stage.jobs),
    )
    if not raw and identity is None:
        # Of a text that tells of nothing there is nothing to explain, and half of the time that a
        # short one takes is the import of what explains.
        return _judged(built, walked, (), strict=strict)
    return _explained(built, walked, document.numbered(raw), started, acting, strict=strict)


def _judged(
    built: Document, walked: Sequence[Walked], findings: Sequence[Finding], *, strict: bool
) -> Document:
    stages = tuple(_stage(entry, findings) for entry in walked)
    return msgspec.structs.replace(
        built,
        verdict=document.verdict(stages, findings, strict=strict),
        stages=stages,
        findings=tuple(_finding(f, built.node) for f in findings),
    )


def _explained(
    built: Document,
    walked: Sequence[Walked],
    findings: Sequence[Finding],
    started: float | None,
    acting: "Acting | None",
    *,
    strict: bool,
) -> Document:
    """Return the document with what explains what, and with the plan."""
    from diagnostics.incidents import join  # noqa: PLC0415 - a text that tells of nothing does without
    from diagnostics.knowledge import pages  # noqa: PLC0415 - as above
    from remediations.plan import advise  # noqa: PLC0415 - as above
    from remediations.plan.situation import NOBODY, situation  # noqa: PLC0415 - as above

    findings, known = join.explain(findings, now=started), pages.load()
    looked = tuple(_looked(result) for stage in walked for result in stage.results)
    incidents = join.incidents(
        findings, built.node, known, built.started, now=started, looked=looked
    )
    built = msgspec.structs.replace(
        _judged(built, walked, findings, strict=strict),
        root_causes=join.root_causes(findings, started),
        incidents=incidents,
    )
    rests_on = situation(
        built, stands(walked), acting or NOBODY, now=started or 0.0, findings=findings
    )
    return msgspec.structs.replace(built, plan=advise.propose(rests_on, known))


def stands(walked: Sequence[Walked]) -> "Standing":
    """Return how the node stands by the end of a walk; nothing is known where none was made."""
    from remediations.plan.standing import Standing  # noqa: PLC0415 - as above

    return next((one.standing for one in reversed(walked) if one.standing), Standing())


def _looked(result: Result) -> "Looked":
    from diagnostics.incidents.outlook import Looked  # noqa: PLC0415 - as above

    return Looked(
        check=result.check,
        faults=result.faults,
        verdict=result.verdict,
        message=result.message,
        notes=bool(result.findings),
    )


def aged(document: Document, ages_s: Mapping[str, float]) -> Document:
    """Return *document* with the age of what each of these checks was shown."""

    def told(line: CheckLine) -> CheckLine:
        return msgspec.structs.replace(line, age_s=round(ages_s[line.check], 1))

    stages = tuple(
        msgspec.structs.replace(
            stage, checks=tuple(told(c) if c.check in ages_s else c for c in stage.checks)
        )
        for stage in document.stages
    )
    return msgspec.structs.replace(document, stages=stages)


def _stage(entry: Walked, findings: Sequence[Finding]) -> StageReport:
    held_by = next((f.id for f in findings if _same(f, entry.held_back_by)), None)
    return StageReport(
        name=entry.stage,
        verdict=document.stage_verdict(entry.results),
        seconds=entry.seconds,
        held_back_by=held_by,
        checks=tuple(
            CheckLine(check=r.check, verdict=r.verdict, message=r.message) for r in entry.results
        ),
    )


def _same(finding: Finding, other: Finding | None) -> bool:
    return other is not None and (finding.check, finding.fault, finding.subject) == (
        other.check,
        other.fault,
        other.subject,
    )


def _finding(finding: Finding, node: str | None) -> dict[str, Any]:
    """Return a finding as the document holds it: times as text, the node in its subject."""
    plain: dict[str, Any] = msgspec.to_builtins(finding)
    for name in ("first_seen", "last_seen"):
        if plain[name] is not None:
            plain[name] = iso(plain[name])
    for evidence in plain["evidence"]:
        if evidence["time"] is not None:
            evidence["time"] = iso(evidence["time"])
    subject = plain["subject"]
    subject.setdefault("node", node)
    if finding.subject == NODE:
        subject["name"] = node
    return plain
