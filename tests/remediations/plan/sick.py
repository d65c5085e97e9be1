"""A GPU that fell off the bus on a node of Slurm's, as a situation in which nothing objects."""

from typing import Any

import msgspec

from collectors.facts.subject import Subject
from diagnostics.document import Incident
from diagnostics.finding import Evidence, Finding, Text
from remediations.plan.actions import Fleet, Situation
from tests.remediations.plan.rehearsal import DRAINED, EVERYTHING, IN_USE, NOW

BOOT = "7c0a5b52-5f7e-4a57-9d3f-2f6f6f0c1a11"
GPU = Subject(kind="gpu", name="0000:4e:00.0", node="gpu-017", serial="1650000000001")
ROOT = Finding(
    id="f1",
    fault="gpu_fell_off_bus",
    severity="critical",
    stage="driver",
    check="driver.kernel_log",
    subject=GPU,
    message="the driver can no longer reach the GPU at 0000:4e:00.0",
    text=Text(key="gpu_fell_off_bus"),
    confidence=0.95,
    evidence=(Evidence(source="kmsg", text="NVRM: Xid (PCI:0000:4e:00): 79", values={"xid": 79}),),
)
INCIDENT = Incident(
    id="i1",
    fingerprint="0f3a5c7e9b1d2460",
    subject=GPU,
    root="f1",
    sentence="s",
    text=Text(key="k"),
    confidence=0.95,
)


def sick(root: Finding = ROOT, **changed: Any) -> Situation:
    """Return the situation; *changed* are its fields that differ."""
    whole = Situation(
        node="gpu-017",
        boot_id=BOOT,
        now=NOW,
        booted_s_ago=86_400.0,
        incidents=(INCIDENT,),
        findings=(root,),
        seen_s={INCIDENT.fingerprint: 600.0},
        walks={INCIDENT.fingerprint: 20},
        jobs=(),
        slurm=IN_USE,
        holders=(),
        duties=(),
        policy=EVERYTHING,
        actor=True,
        fleet=Fleet(heard_s_ago=1.0),
    )
    return msgspec.structs.replace(whole, **changed)


def drained(root: Finding = ROOT, **changed: Any) -> Situation:
    """Return it with the node drained by us: what repairs it is next."""
    return sick(root, **({"slurm": DRAINED} | changed))


def well(**changed: Any) -> Situation:
    """Return it drained by us, and well again for an hour."""
    given: dict[str, Any] = {"incidents": (), "findings": (), "clear_s": 3600.0} | changed
    return drained(**given)


def of(root: Finding, **changed: Any) -> Finding:
    return msgspec.structs.replace(root, **changed)
