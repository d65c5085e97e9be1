"""What a check says: a finding, or that all is well, unseen, or not applicable."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject

Severity = Literal["info", "warning", "critical"]
Kind = Literal["event", "condition"]
Stage = Literal["processes", "driver", "network", "training"]
Proved = Literal["hardware", "real-tool", "recorded", "documented"]
Verdict = Literal["ok", "warning", "fault", "unknown", "not_applicable"]

STAGES: tuple[Stage, ...] = ("processes", "driver", "network", "training")
RANK: Mapping[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


# Out of the collector's sight (gc=False), as is what is made of these: none of them is in a ring,
# and where there are thousands it took half of the time that joining them takes.


class Evidence(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """Where a statement comes from.

    `source` is a file, tool or helper; for text, `line` counts from 1 in that file and `text` is
    what stands there. `time` is seconds since the epoch, known to `time_error_s`.
    """

    source: str
    text: str | None = None
    line: int | None = None
    time: float | None = None
    time_error_s: float | None = None
    values: Mapping[str, Any] = {}


class Text(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """A sentence as data: `key` names the English template, `args` fill it."""

    key: str
    args: Mapping[str, Any] = {}


class Finding(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """One fault of one subject. `id`, `stage`, `check` and `proved` are set by the frame."""

    id: str = ""
    fault: str
    severity: Severity
    kind: Kind = "condition"
    stage: Stage = "processes"
    check: str = ""
    rule: str | None = None
    proved: Proved = "documented"
    subject: Subject
    message: str
    text: Text
    first_seen: float | None = None
    last_seen: float | None = None
    count: int = 1
    confidence: float = 0.9
    evidence: tuple[Evidence, ...] = ()
    explained_by: str | None = None
    remedies: tuple[str, ...] = ()


class Well(msgspec.Struct, gc=False, frozen=True):
    """What was looked at and found in order, as one clause with its numbers."""

    message: str


class Unseen(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """A part of what the check judges could not be seen."""

    missing: Missing
    subject: Subject | None = None


class NotApplicable(msgspec.Struct, gc=False, frozen=True):
    """This node has no such subject, and none was expected."""

    why: str


Statement = Finding | Well | Unseen | NotApplicable


def found(  # noqa: PLR0913 - a finding has this much to say, and all of it by name
    fault: str,
    severity: Severity,
    subject: Subject,
    template: str,
    /,
    *evidence: Evidence,
    kind: Kind = "condition",
    variant: str = "",
    rule: str | None = None,
    count: int = 1,
    confidence: float = 0.9,
    first_seen: float | None = None,
    last_seen: float | None = None,
    remedies: tuple[str, ...] = (),
    **args: Any,  # noqa: ANN401 - whatever the template names
) -> Finding:
    """Return a finding whose message is *template* filled with *args*.

    The template is the English sentence of `text.key`; *variant* tells two templates of one fault
    apart. A value is written as `str` does, so round numbers before. `count` is how often the fault
    was seen, and may stand in the template too.
    """
    key = f"{fault}.{variant}" if variant else fault
    return Finding(
        fault=fault,
        severity=severity,
        kind=kind,
        rule=rule,
        subject=subject,
        message=template.format(count=count, **args),
        text=Text(key=key, args=args),
        first_seen=first_seen,
        last_seen=last_seen,
        count=count,
        confidence=confidence,
        evidence=evidence,
        remedies=remedies,
    )
