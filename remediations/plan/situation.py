"""Put together what a decision rests on: the diagnosis, how the node stands, who may act."""

from collections.abc import Iterable, Mapping

import msgspec

from diagnostics.document import Document
from diagnostics.finding import Finding
from remediations.plan.actions import Fleet, KubeNode, Past, Situation
from remediations.plan.standing import Standing
from remediations.policy import Policy

# The check that asks the driver; where it has nothing to ask, there is no GPU.
ANSWERS = "driver.answers"


class Acting(msgspec.Struct, frozen=True, kw_only=True):
    """What no walk sees: the site's word, the actor's and the aggregator's, and the past.

    `seen_s` and `walks` are by fingerprint; the rest is as in Situation.
    """

    policy: Policy = Policy()
    actor: bool = False
    open_action: str | None = None
    history: tuple[Past, ...] = ()
    fleet: Fleet | None = None
    kubernetes: KubeNode | None = None
    seen_s: Mapping[str, float] = {}
    walks: Mapping[str, int] = {}
    clear_s: float | None = None
    person: bool = False
    rehearsal: bool = False


NOBODY = Acting()


def situation(
    document: Document,
    stands: Standing,
    acting: Acting = NOBODY,
    *,
    now: float,
    findings: Iterable[Finding] | None = None,
) -> Situation:
    """Return the situation of one walk; *findings* are the document's own, if at hand."""
    whole = _read(document) if findings is None else tuple(findings)
    checks = [check for stage in document.stages for check in stage.checks]
    return Situation(
        node=document.node,
        boot_id=document.boot_id,
        now=now,
        booted_s_ago=stands.booted_s_ago,
        incidents=document.incidents,
        findings=whole,
        blind=frozenset(check.check for check in checks if check.verdict == "unknown"),
        no_gpu=any(c.check == ANSWERS and c.verdict == "not_applicable" for c in checks),
        ages_s={check.check: check.age_s for check in checks if check.age_s is not None},
        seen_s=acting.seen_s,
        walks=acting.walks,
        clear_s=acting.clear_s,
        jobs=stands.jobs,
        slurm=stands.slurm,
        kubernetes=acting.kubernetes,
        holders=stands.holders,
        duties=stands.duties,
        maintenance=stands.maintenance,
        network=stands.network,
        lost_jobs=stands.lost_jobs,
        policy=acting.policy,
        actor=acting.actor,
        open_action=acting.open_action,
        history=acting.history,
        fleet=acting.fleet,
        recorded=document.recorded,
        simulated=document.simulated,
        rehearsal=acting.rehearsal,
        person=acting.person,
    )


def _read(document: Document) -> tuple[Finding, ...]:
    """Return the findings of a document; their times, which are text there, are left out."""
    return tuple(msgspec.convert(_timeless(one), Finding) for one in document.findings)


def _timeless(finding: Mapping[str, object]) -> dict[str, object]:
    evidence = finding.get("evidence")
    listed = evidence if isinstance(evidence, list | tuple) else ()
    quoted = [{**one, "time": None} for one in listed if isinstance(one, dict)]
    return {**finding, "first_seen": None, "last_seen": None, "evidence": quoted}
