"""The first command of a fault's page, with what is known of this incident filled in."""

import re
import shlex

from diagnostics.finding import Finding

# The words that pages write in capitals where a value belongs.
PLACES = re.compile(r"\b(PID|JOB|USER|NODE|BDF|DEV|DEVICE|MOUNT|PEER|LOG)\b|(?<= -i )N\b")


def command(template: str, root: Finding, node: str | None) -> str:
    """Return *template* with the subject's values, quoted for a shell; unknown places stay."""
    values = _values(root, node)

    def fill(hit: re.Match[str]) -> str:
        value = values.get(hit[0])
        return hit[0] if value is None else shlex.quote(value)

    return PLACES.sub(fill, template)


def _values(root: Finding, node: str | None) -> dict[str, str | None]:
    subject = root.subject
    by_kind = {
        "gpu": "BDF",
        "disk": "DEV",
        "nic": "DEV",
        "mount": "MOUNT",
        "log": "LOG",
        "job": "JOB",
    }
    line = next((e.source for e in root.evidence if e.line is not None), None)
    values = {
        "PID": None if subject.pid is None else str(subject.pid),
        "JOB": subject.job,
        "USER": subject.user,
        "NODE": node,
        "PEER": subject.peer,
        "LOG": line if root.stage == "training" else None,
    }
    if place := by_kind.get(subject.kind):
        values[place] = subject.name
    # nvidia-smi takes an address where its help says index, and an index can change with a reboot.
    values["N"] = values.get("BDF")
    return values
