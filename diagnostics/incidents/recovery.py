"""What brings back the GPU of an incident, from what its findings quote."""

from collections.abc import Iterable, Mapping
from typing import Any

from diagnostics.finding import Finding
from diagnostics.knowledge.aliases import WISH
from diagnostics.knowledge.codes.recovery import Advice, Heard, recovery

# NVML's field of that name, as gpu.recovery quotes it.
NVML = "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"
# They speak of the codes beside them.
SPEAKS = frozenset({45, 154})
BY = {
    "driver": "by the driver's own word",
    "sub_event": "by the sub-event in its line",
    "code": "by its code",
    "person": "for a person to decide",
}


def advice(root: Finding, findings: Iterable[Finding]) -> Advice | None:
    """Return what brings the root's GPU or switch back, None where no code and no driver says it.

    What is told of the same thing counts together: a 63 beside a 48, an Xid 154, NVML's answer.
    """
    same = [root, *(f for f in findings if f.id != root.id and _of_it(f, root))]
    values = [evidence.values for finding in same for evidence in finding.evidence]
    return recovery(
        [one for value in values if (one := _heard(value)) is not None],
        xid_154=_first(values, "recovery_action"),
        nvml=_first(values, NVML),
    )


def step(advised: Advice) -> str:
    """Return it as the first step of a plan, with whose word it is."""
    return f"{advised.step} ({BY[advised.by]})"


def _of_it(finding: Finding, root: Finding) -> bool:
    subject = (finding.subject.kind, finding.subject.name)
    counts = finding.severity != "info" or (finding.fault == WISH and not _withdrawn(finding))
    return subject == (root.subject.kind, root.subject.name) and counts


def _withdrawn(finding: Finding) -> bool:
    return any(evidence.values.get("over") for evidence in finding.evidence)


def _heard(values: Mapping[str, Any]) -> Heard | None:
    xid, sxid, sub_event = values.get("xid"), values.get("sxid"), values.get("sub_event")
    if isinstance(xid, int) and xid not in SPEAKS:
        return Heard(code=xid, sub_event=sub_event)
    return Heard(code=sxid, switch=True, sub_event=sub_event) if isinstance(sxid, int) else None


def _first(values: Iterable[Mapping[str, Any]], name: str) -> int | None:
    return next((value for one in values if isinstance(value := one.get(name), int)), None)
