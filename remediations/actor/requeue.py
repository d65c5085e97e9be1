"""Put a job back into the queue: one that allows it, and of whose step nothing is left here.

The controller counts the step as running on this node, slurmd has no process of it: its ranks are
gone, and those on other nodes wait for them. It is looked at twice, for a step that starts or ends
looks alike for a moment.
"""

import re
import time
from pathlib import Path

from remediations.actor import controller, slurm
from remediations.actor.registry import Refused, Turn, question, verb

NUMBER = re.compile(r"\d{1,10}")
# Until its tasks are there a step has no process: images are pulled, prologs run.
LEAST_S = 300
AGAIN_S = 5.0
ON_THE_WAY = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "CONFIGURING")


@question
def slurm_requeued(state: Path, job: str) -> bool:
    """Return whether that job waits in the queue, or is not on this node any more."""
    del state
    now = controller.job(_number(job))
    if now is None:
        return False
    return now.state in ON_THE_WAY or (now.state == "RUNNING" and job not in controller.steps())


@verb("slurm.requeue")
def slurm_requeue(turn: Turn, job: str) -> str:
    """Requeue a job that lost its processes on this node, which we drained."""
    del turn
    number = _number(job)
    now = controller.node()
    if "DRAIN" not in now.states or not now.reason.startswith(controller.PREFIX):
        raise Refused("denied", "it may come back to this node: no drain of ours stands here")
    _allows(number)
    first = _lost(number)
    time.sleep(AGAIN_S)  # noqa: TID251 - the actor may wait; the agent's loop may not
    if not first & _lost(number):
        raise Refused("denied", f"job {number} has changed meanwhile")
    slurm.change("requeue", number)
    return f"job {number} requeued"


def _allows(number: str) -> None:
    found = controller.job(number)
    if found is None or found.state != "RUNNING":
        state = "unknown to the controller" if found is None else found.state
        raise Refused("denied", f"job {number} is {state}, not RUNNING")
    if not (found.requeue and found.batch):
        why = "Requeue=0" if found.batch else "it is no batch job"
        raise Refused("denied", f"job {number} may not be requeued: {why}")


def _lost(number: str) -> set[str]:
    """Return the steps of the job that ran here long enough, while nothing of the job is here."""
    if there := [pid for pid, job, _ in controller.processes() if job == number]:
        raise Refused("denied", f"job {number} has process {there[0]} on this node")
    steps = controller.steps().get(number, {})
    lost = {step for step, ran in steps.items() if ran >= LEAST_S}
    if not lost:
        raise Refused("denied", f"no step of job {number} has run here for {LEAST_S} s")
    return lost


def _number(job: str) -> str:
    if not NUMBER.fullmatch(job):
        raise Refused("denied", f"{job!r:.40} is no number of a job")
    return job
