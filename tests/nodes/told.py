"""What a diagnosis tells: root causes above info, as pairs of a fault and a thing's name."""

from diagnostics.document import Document

Told = frozenset[tuple[str, str]]


def told(document: Document) -> Told:
    """Return the root causes that are no notes."""
    by_id = {finding["id"]: finding for finding in document.findings}
    roots = (by_id[name] for name in document.root_causes)
    return frozenset((f["fault"], f["subject"]["name"]) for f in roots if f["severity"] != "info")
