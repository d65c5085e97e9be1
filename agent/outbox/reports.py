"""Build the three kinds of report from a diagnosis; pure: what is now, and known, is given."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agent.outbox import privacy
from agent.outbox.privacy import JobText
from aggregator.wire import Asks, Part, Report

Finding = Mapping[str, Any]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks: `machine` is the board's own id, which outlives a new name or image."""

    node: str
    boot_id: str
    product: str
    simulated: bool = False
    machine: str | None = None


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as it was last told: `check` saw it, `state` is what of it would be a change."""

    check: str
    state: str


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell, and what is known after it was told: the `known` of the next comparison."""

    findings: tuple[dict[str, Any], ...] = ()
    cleared: tuple[str, ...] = ()
    known: Mapping[str, Known] = {}


def fingerprint(node: str, finding: Finding) -> str:
    """Return a finding's name over time: the same fault of the same thing, 16 hex digits."""
    subject = finding["subject"]
    names = (finding["fault"], finding["rule"], subject["kind"], subject["name"])
    parts = "\0".join(str(part or "") for part in (node, *names, subject.get("job")))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:16]


def compare(known: Mapping[str, Known], diagnosis: Mapping[str, Any], node: str) -> Changes:
    """Return which findings appeared, changed or cleared.

    Ages, counts and wording are no change: they move at each walk, and the snapshot carries them.
    A finding whose check was blind this time is not cleared: unseen is not well.
    """
    named = _named(node, diagnosis["findings"])
    now = {name: _known(found) for name, found in named.items()}
    gone = {name: old for name, old in known.items() if name not in now}
    spoke = _spoke(diagnosis)
    still = {name: old for name, old in gone.items() if old.check not in spoke}
    return Changes(
        findings=tuple(named[name][0] for name, state in now.items() if known.get(name) != state),
        cleared=tuple(name for name in gone if name not in still),
        known={**still, **now},
    )


def _named(node: str, findings: Iterable[Finding]) -> dict[str, list[dict[str, Any]]]:
    """Return the findings by fingerprint, each with its own in it; alike ones share one."""
    named: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        name = fingerprint(node, finding)
        named.setdefault(name, []).append({**finding, "fingerprint": name})
    return named


def _known(alike: Iterable[Finding]) -> Known:
    states = sorted(
        f"{f['severity']} {f['kind']} {f['text']['key']} {f['subject'].get('rank')}" for f in alike
    )
    return Known(check=next(iter(alike))["check"], state="; ".join(dict.fromkeys(states)))


def _spoke(diagnosis: Mapping[str, Any]) -> set[str]:
    """Return the checks that could see: a finding that they no longer make is over."""
    lines = [line for stage in diagnosis["stages"] for line in stage["checks"]]
    return {line["check"] for line in lines if line["verdict"] != "unknown"}


def heartbeat(
    about: About,
    verdict: str,
    sent: float,
    stages_s: Mapping[str, float] | None = None,
    asks: Asks | None = None,
) -> Report:
    """Return the report that says no more than that the node lives, how it is, and looks.

    *asks* is what the receipt shall be about, and what others want to know of this node in turn.
    """
    stages = dict(stages_s or {})
    said = {} if asks is None else msgspec.structs.asdict(asks)
    return _report(about, sent, kind="heartbeat", verdict=verdict, stages_s=stages, **said)


def change(
    about: About,
    diagnosis: Mapping[str, Any],
    changes: Changes,
    sent: float,
    job_text: JobText = "masked",
) -> Report | None:
    """Return the report of what changed, or None where nothing did."""
    if not changes.findings and not changes.cleared:
        return None
    part = privacy.document({**diagnosis, "findings": changes.findings}, job_text)
    return _report(
        about,
        sent,
        kind="change",
        verdict=diagnosis["verdict"],
        findings=tuple(part["findings"]),
        cleared=changes.cleared,
    )


def snapshot(
    about: About,
    diagnosis: Mapping[str, Any],
    sent: float,
    job_text: JobText = "masked",
    *,
    parts: tuple[Part, ...] = (),
    versions: Mapping[str, str] | None = None,
    gauges: Mapping[str, float] | None = None,
) -> Report:
    """Return the whole diagnosis, each finding with its fingerprint, and what the node is made of.

    It says all that is true now: what a lost change would have told is healed by it.
    """
    named = _named(about.node, diagnosis["findings"])
    findings = [finding for alike in named.values() for finding in alike]
    return _report(
        about,
        sent,
        kind="snapshot",
        verdict=diagnosis["verdict"],
        diagnosis=privacy.document({**diagnosis, "findings": findings}, job_text),
        parts=parts,
        versions=dict(versions or {}),
        gauges=dict(gauges or {}),
    )


def _report(about: About, sent: float, **rest: Any) -> Report:  # noqa: ANN401 - Report's own fields
    return Report(
        node=about.node,
        boot_id=about.boot_id,
        product=about.product,
        simulated=about.simulated,
        machine=about.machine,
        sequence=0,
        sent=sent,
        **rest,
    )
