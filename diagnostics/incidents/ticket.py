"""The text of a ticket about an incident: what a vendor or a data centre asks first."""

from collections.abc import Iterator

from diagnostics.document import Document, Incident

MOST_LINES = 8
LONGEST = 240


def ticket(document: Document, incident: Incident) -> list[str]:
    """Return the lines; evidence of what jobs wrote is left out."""
    findings = {finding["id"]: finding for finding in document.findings}
    root = findings[incident.root]
    subject = incident.subject
    about = f"{root['fault']} of {subject.kind} {subject.name}"
    lines = [f"{document.node or 'node'}: {about}", ""]
    lines += [" ".join(incident.sentence.split()), ""]
    lines += [f"node: {document.node}", f"boot: {document.boot_id}", f"subject: {about}"]
    lines += [
        f"{key}: {value}" for key in ("serial", "uuid") if (value := root["subject"].get(key))
    ]
    lines += [
        f"since: {root['first_seen'] or incident.opened}",
        f"incident: {incident.fingerprint}",
    ]
    told = [
        one for name in (incident.root, *incident.consequences) for one in _quoted(findings[name])
    ]
    lines += _part("evidence:", told[:MOST_LINES])
    lines += _part("ruled out:", [f"{one.fault}: {one.why}" for one in incident.rejected])
    lines += _part("changed in the 24 h before:", incident.changes_before)
    return lines


def line(text: str) -> str:
    """Return text of others as one line of a bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]} ..."


def _part(heading: str, texts: list[str] | tuple[str, ...]) -> list[str]:
    return ["", heading, *(f"  {line(text)}" for text in texts)] if texts else []


def _quoted(finding: dict[str, object]) -> Iterator[str]:
    evidence = finding["evidence"]
    if finding["stage"] == "training" or not isinstance(evidence, list | tuple):
        return
    for one in evidence:
        said = one["text"] if one["text"] is not None else finding["message"]
        yield f"{one['time'] or ''} {one['source']}: {said}".strip()
