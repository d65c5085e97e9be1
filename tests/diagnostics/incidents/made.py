"""Findings as checks make them, for the tests of incidents."""

from typing import Any

from collectors.facts.subject import Subject
from diagnostics.document import numbered
from diagnostics.finding import Evidence, Finding, Severity, Text
from diagnostics.incidents import join

GPU = Subject(kind="gpu", name="0000:4e:00.0", serial="1653120004417")
LOG = Subject(kind="log", name="/scratch/run/out.log")
NODE = Subject(kind="node", name="node")


def finding(
    fault: str, severity: Severity = "critical", *evidence: Evidence, **parts: Any
) -> Finding:
    message = parts.pop("message", fault)
    subject = parts.pop("subject", GPU)
    text = Text(key=fault)
    return Finding(
        fault=fault,
        severity=severity,
        subject=subject,
        message=message,
        text=text,
        evidence=evidence,
        **parts,
    )


def roots(*found: Finding, now: float | None = None) -> list[tuple[str, str]]:
    """Return fault and subject of what is left as a root, the likeliest first."""
    findings = join.explain(numbered(found), now=now)
    by_id = {one.id: one for one in findings}
    told = [by_id[name] for name in join.root_causes(findings, now)]
    return [(one.fault, one.subject.name) for one in told]
