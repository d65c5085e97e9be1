"""Diagnosis documents with what a test of the daemon needs in them."""

from typing import Any

import msgspec

from agent.daemon.walker import Walk
from collectors.facts.subject import Subject
from diagnostics.document import CheckLine, Document, Incident, StageReport
from diagnostics.finding import STAGES, Text


def finding(number: int = 1, fault: str = "gpu_lost", **subject: Any) -> dict[str, Any]:
    """Return a critical finding of the driver stage as the document holds it."""
    kind = subject.pop("kind", "gpu")
    name = subject.pop("name", "0000:4e:00.0")
    return {
        "id": f"f{number}",
        "fault": fault,
        "severity": "critical",
        "kind": "condition",
        "stage": "driver",
        "check": f"check.{number}",
        "rule": None,
        "proved": "recorded",
        "subject": {"kind": kind, "name": name, "node": "gpu-017", **subject},
        "message": f"message of f{number}",
        "text": {"key": fault, "args": {}},
        "first_seen": None,
        "last_seen": None,
        "count": 1,
        "confidence": 0.9,
        "evidence": [
            {
                "source": "kmsg",
                "text": f"evidence of f{number}",
                "line": None,
                "time": None,
                "time_error_s": None,
                "values": {},
            }
        ],
        "explained_by": None,
        "remedies": [],
    }


def document(*findings: dict[str, Any], **changed: Any) -> Document:
    """Return a document of four stages; each finding has its check in the driver stage."""
    lines = tuple(
        CheckLine(check=f["check"], verdict="fault", message=f["message"]) for f in findings
    )
    stages = tuple(
        StageReport(
            name=name,
            verdict="fault" if lines and name == "driver" else "ok",
            seconds=0.1,
            checks=lines if name == "driver" else (),
        )
        for name in STAGES
    )
    made = Document(
        product="gpudiag 0.1.0",
        node="gpu-017",
        boot_id="b00t",
        started="2026-11-30T02:11:09.120Z",
        seconds=0.4,
        verdict="fault" if findings else "ok",
        stages=stages,
        findings=findings,
        root_causes=tuple(f["id"] for f in findings),
    )
    return msgspec.structs.replace(made, **changed)


def walked(*findings: dict[str, Any], age_s: float = 5.0) -> Walk:
    """Return a walk whose observations were *age_s* old."""
    return Walk(
        document=document(*findings), ended=0.0, ages_s={f["check"]: age_s for f in findings}
    )


def incident(root: str = "f1", name: str = "aa", **changed: Any) -> Incident:
    """Return an incident of that finding."""
    made = Incident(
        id="i1",
        fingerprint=name,
        subject=Subject(kind="gpu", name="0000:4e:00.0"),
        root=root,
        sentence=f"Message of {root}.",
        text=Text(key="incident.gpu_lost"),
        confidence=0.9,
    )
    return msgspec.structs.replace(made, **changed)
