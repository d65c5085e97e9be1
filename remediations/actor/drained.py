"""Whether nothing of a job can be on this node, by the scheduler, at the moment of acting."""

import json
from pathlib import Path
from typing import Any

from collectors.helpers.children import tools
from remediations.actor import controller
from remediations.actor.journal import Journal
from remediations.actor.registry import Refused

BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING", "DRAINING"})
CORDON, UNCORDON = "kubernetes.cordon", "kubernetes.uncordon"
KUBELET = Path("/var/lib/kubelet")
PLUGINS = "device-plugins/kubelet_internal_checkpoint"
GPU = "nvidia.com/"
MOST_BYTES = 4 << 20


def must_be(state: Path) -> None:
    """Raise Refused with what speaks against it: in use, or out of use by somebody else."""
    objection = _by_slurm() if (slurm := _has_slurm()) else None
    kubernetes = (KUBELET / PLUGINS).exists()
    if objection is None and kubernetes:
        objection = _pods(KUBELET) or (None if slurm else _cordoned(state))
    if objection is None and not slurm and not kubernetes:
        objection = "no scheduler says that the node is out of use"
    if objection is not None:
        raise Refused("denied", objection)


def _has_slurm() -> bool:
    try:
        return bool(tools.path("scontrol"))
    except Refused:
        return False


def _by_slurm() -> str | None:
    now = controller.node()
    states = "+".join(sorted(now.states))
    if "DRAIN" not in now.states or "IDLE" not in now.states or now.states & BUSY:
        return f"the node is not drained: {states}"
    if not now.reason.startswith(controller.PREFIX):
        return f"the drain is not ours: {now.reason:.120}"
    return None


def _pods(kubelet: Path) -> str | None:
    """Return which pod has a GPU by the kubelet's own record; one that is over has no folder."""
    # {"Data":{"PodDeviceEntries":[{"PodUID":"5a0c...","ResourceName":"nvidia.com/gpu",...}]}}
    try:
        with (kubelet / PLUGINS).open("rb") as file:
            entries: Any = json.loads(file.read(MOST_BYTES))["Data"]["PodDeviceEntries"] or ()
        pods = {str(one["PodUID"]) for one in entries if str(one["ResourceName"]).startswith(GPU)}
    except (OSError, ValueError, KeyError, TypeError):
        return f"{kubelet / PLUGINS} cannot be read: it is not known which pods have GPUs"
    there = sorted(pod for pod in pods if "/" not in pod and (kubelet / "pods" / pod).exists())
    return f"pod {there[0]:.40} has a GPU of this node" if there else None


def _cordoned(state: Path) -> str | None:
    """Return why the node is not cordoned by us, as far as our own journal knows."""
    ours = False
    for acted in Journal(state).actions().values():
        if acted.end is not None and acted.end["outcome"] == "done":
            ours = {CORDON: True, UNCORDON: False}.get(acted.begin["remedy"], ours)
    return None if ours else "the node is not cordoned by us"
