"""The diagnosis document, `gpudiag.diagnosis/1`: what `run --json` and `logs --json` print."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from collectors.facts.subject import Subject
from diagnostics.check import Result
from diagnostics.finding import RANK, STAGES, Finding, Stage, Text, Verdict

SCHEMA = "gpudiag.diagnosis/1"
SMALL = 1e-4
IncidentState = Literal["open", "acknowledged", "resolved", "reopened"]
STATUS: Mapping[str, int] = {"ok": 0, "warning": 1, "fault": 2, "unknown": 3}


class CheckLine(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """One check as the document lists it.

    `age_s` is how old the oldest thing was that it was shown, where it was not looked at for it.
    """

    check: str
    verdict: Verdict
    message: str
    age_s: float | None = None


class StageReport(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """One stage; `held_back_by` is the id of the finding that kept its probes from running."""

    name: Stage
    verdict: Verdict
    seconds: float | None
    held_back_by: str | None = None
    checks: tuple[CheckLine, ...] = ()


class Rejected(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """An alternative that was looked at and is not the cause; `why` is `text` in English."""

    fault: str
    why: str
    text: Text | None = None


class NextStep(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """What to look at next, with the exact command; `why` is `text` in English."""

    why: str
    command: str
    text: Text | None = None


class Change(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """What was changed at `time` (ISO 8601, UTC), as data."""

    time: str
    text: Text


class Incident(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """One cause with what follows from it; `root` and `consequences` are finding ids.

    The sentence is `text` and then the clauses of `story`. `echoes` is how often what was said more
    than once was said. `changes_before` are `changes` in English. `resubmit`
    starts the job anew elsewhere.
    """

    id: str
    fingerprint: str
    state: IncidentState = "open"
    opened: str | None = None
    subject: Subject
    root: str
    consequences: tuple[str, ...] = ()
    echoes: Mapping[str, int] = {}
    sentence: str
    text: Text
    story: tuple[Text, ...] = ()
    confidence: float
    rejected: tuple[Rejected, ...] = ()
    changes_before: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    next: tuple[NextStep, ...] = ()
    would_change: str = ""
    would_change_text: Text | None = None
    resubmit: str | None = None


class PlanLine(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """What is proposed for one incident, and whether it was done."""

    remedy: str
    incident: str
    decision: str
    reason: str
    steps: tuple[str, ...] = ()
    risk: str = ""


class Document(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """One walk over one node, or one reading of logs."""

    schema: str = SCHEMA
    product: str
    node: str | None
    boot_id: str | None
    simulated: bool = False
    recorded: bool = False
    started: str | None
    seconds: float | None
    verdict: Verdict
    stages: tuple[StageReport, ...]
    findings: tuple[dict[str, Any], ...]
    root_causes: tuple[str, ...] = ()
    incidents: tuple[Incident, ...] = ()
    jobs: tuple[dict[str, Any], ...] = ()
    plan: tuple[PlanLine, ...] = ()

    def encode(self) -> bytes:
        """Return the one JSON text: finite numbers, 6 digits, None for what is absent."""
        return msgspec.json.encode(plain(self))


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return *value* as JSON types; nan and inf become the strings "nan", "inf", "-inf"."""
    return _finite(msgspec.to_builtins(value))


def _finite(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        # A learning rate has its digits further behind.
        return round(value, 6) if abs(value) >= SMALL else float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        # A curve has thousands of steps and values: a call for each would be most of a document.
        return [
            inner
            if type(inner) is int or inner is None
            else round(inner, 6)
            if type(inner) is float and SMALL <= inner < math.inf
            else _finite(inner)
            for inner in value
        ]
    return value


def numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings in their order (stage, check, subject, fault) with ids f1, f2, ..."""

    def key(finding: Finding) -> tuple[Any, ...]:
        subject = finding.subject
        return (
            STAGES.index(finding.stage),
            finding.check,
            subject.kind,
            subject.name,
            finding.fault,
            finding.rule or "",
            finding.message,
        )

    ordered = sorted(findings, key=key)
    return tuple(
        msgspec.structs.replace(finding, id=f"f{number}")
        for number, finding in enumerate(ordered, start=1)
    )


def stage_verdict(results: Sequence[Result]) -> Verdict:
    """Return the worst of a stage: fault, unknown if it saw nothing at all, warning, ok."""
    verdicts = {result.verdict for result in results} - {"not_applicable"}
    if not verdicts:
        return "not_applicable"
    if "fault" in verdicts:
        return "fault"
    if verdicts == {"unknown"}:
        return "unknown"
    return "warning" if "warning" in verdicts else "ok"


def verdict(stages: Sequence[StageReport], findings: Sequence[Finding], *, strict: bool) -> Verdict:
    """Return the document's verdict: fault, then unknown, then warning, then ok.

    Unknown is a stage that was wholly blind, or with *strict* any check that was.
    """
    worst = max((RANK[finding.severity] for finding in findings), default=0)
    blind = any(stage.verdict == "unknown" for stage in stages)
    unseen = any(check.verdict == "unknown" for stage in stages for check in stage.checks)
    if worst == RANK["critical"]:
        return "fault"
    if blind or (strict and unseen):
        return "unknown"
    return "warning" if worst else "ok"
