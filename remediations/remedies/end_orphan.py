"""End a process that holds a GPU and that no job, container or session owns any more."""

import hashlib

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Holder, Remedy, Situation, Step
from remediations.plan.answer import answer

FAULT = "gpu_process_orphaned"
FIRST_USER = 1000
RISK = "what the process has not written is lost"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """End it by its own identity: pid, start time, user and cgroup as they were seen."""
    if incident is None or root is None or root.fault != FAULT:
        return None
    holder = _holder(situation, root)
    if holder is None or holder.uid is None or holder.uid < FIRST_USER or holder.own:
        return None
    step = Step(
        verb="end_process",
        args={
            "pid": holder.pid,
            "start_ticks": holder.start_ticks,
            "uid": holder.uid,
            "cgroup": hashlib.sha256(holder.cgroup.encode()).hexdigest()[:32],
        },
        says=f"end process {holder.pid} ({holder.comm}) of user {holder.uid}: TERM, then KILL",
        done="process_ended",
    )
    return answer(
        "process.end_orphan",
        situation,
        incident,
        root,
        (step,),
        verify=("processes.orphaned",),
        risk=RISK,
    )


def _holder(situation: Situation, root: Finding) -> Holder | None:
    held = situation.holders or ()
    return next((one for one in held if one.pid == root.subject.pid), None)


REMEDY = Remedy(
    name="process.end_orphan",
    does="ends a process that holds a GPU and belongs to no job any more: TERM, grace, KILL",
    faults=frozenset({FAULT}),
    takes="process",
    precondition="same start time, user and cgroup; uid 1000 or above; not in state D; no job's",
    risk=RISK,
    verification="the process is gone and the GPU's memory is free",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"end_process"}),
    propose=propose,
)
