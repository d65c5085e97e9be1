"""Leave out the name of the log where there is one only: whoever gave it knows it."""

from typing import Any

import msgspec

from diagnostics.document import Document, Incident, StageReport


def brief(document: Document) -> Document:
    """Return the document with sentences that do not begin with the log's name, if it is one."""
    told = {str(f["text"]["args"]["log"]) for f in document.findings if "log" in f["text"]["args"]}
    names = told | {str(job["log"]) for job in document.jobs if job.get("log")}
    if len(names) != 1 or not told:
        return document
    head = f"{names.pop()}: "
    return msgspec.structs.replace(
        document,
        findings=tuple(_finding(one, head) for one in document.findings),
        incidents=tuple(_incident(one, head) for one in document.incidents),
        stages=tuple(_stage(one, head) for one in document.stages),
    )


def _finding(finding: dict[str, Any], head: str) -> dict[str, Any]:
    return {**finding, "message": finding["message"].removeprefix(head)}


def _incident(incident: Incident, head: str) -> Incident:
    if not incident.sentence.startswith(head):
        return incident
    sentence = incident.sentence.removeprefix(head)
    return msgspec.structs.replace(incident, sentence=sentence[:1].upper() + sentence[1:])


def _stage(stage: StageReport, head: str) -> StageReport:
    checks = tuple(
        msgspec.structs.replace(check, message=check.message.removeprefix(head))
        for check in stage.checks
    )
    return msgspec.structs.replace(stage, checks=checks)
