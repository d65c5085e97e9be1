"""Reboot the node through Slurm, which waits until it is idle and keeps it out afterwards."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer, reason
from remediations.plan.needs import repairs
from remediations.plan.scheduler import out
from remediations.remedies.checks import BOOTED
from remediations.remedies.report import BUG_REPORT, VERB

RISK = "whatever runs on the node outside of Slurm ends; it may not come back by itself"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Reboot a node that is out of use, where the fault needs it."""
    slurm = situation.slurm
    if incident is None or root is None or slurm is None or not out(slurm):
        return None
    if "reboot" not in repairs(situation, root):
        return None
    why = reason(incident, root)
    step = Step(
        verb="slurm_reboot",
        args={"reason": why},
        says=f'scontrol reboot ASAP nextstate=DOWN reason="{why}" {slurm.name}',
        undo=Step(
            verb="slurm_cancel_reboot",
            args={"reason": why},
            says=f"scontrol cancel_reboot {slurm.name}, while Slurm has not begun it",
        ),
        done="reboot_asked",
        comes="rebooted",
    )
    return answer(
        "slurm.reboot", situation, incident, root, (BUG_REPORT, step), verify=BOOTED, risk=RISK
    )


REMEDY = Remedy(
    name="slurm.reboot",
    does="reboots the node through Slurm, and leaves it out of use until it is checked",
    takes="node",
    precondition="drained by us, no job and no process of one is left",
    risk=RISK,
    verification="another boot id, then all GPUs, links, ports and mounts as before",
    cooldown_s=7200.0,
    deadline_s=7200.0,
    verbs=frozenset({VERB, "slurm_reboot", "slurm_cancel_reboot"}),
    propose=propose,
)
