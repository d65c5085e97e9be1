"""Every remedy, in the order of trust: cap, drain, orphan, reset, reboot."""

from remediations.plan.actions import Remedy
from remediations.policy import PROVED
from remediations.remedies import (
    end_orphan,
    fabric_manager,
    gpu_reset,
    kubernetes_cordon,
    kubernetes_evict,
    kubernetes_uncordon,
    persistenced,
    power_cap,
    slurm_drain,
    slurm_reboot,
    slurm_requeue,
    slurm_resume,
)

_ROWS = (
    power_cap.REMEDY,
    slurm_drain.REMEDY,
    slurm_resume.REMEDY,
    slurm_requeue.REMEDY,
    kubernetes_cordon.REMEDY,
    kubernetes_uncordon.REMEDY,
    kubernetes_evict.REMEDY,
    end_orphan.REMEDY,
    persistenced.REMEDY,
    gpu_reset.REMEDY,
    fabric_manager.REMEDY,
    slurm_reboot.REMEDY,
)
_BY_NAME = {row.name: row for row in _ROWS}
# The order of trust stands in the policy, which the actor shares.
REMEDIES: dict[str, Remedy] = {name: _BY_NAME[name] for name in PROVED}
# What counts on the ladder: it takes something from somebody.
COUNTED = frozenset(name for name, row in REMEDIES.items() if row.takes != "nothing")
