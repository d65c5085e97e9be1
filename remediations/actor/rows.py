"""What the actor itself knows of each remedy; the plan's table is tested to be equal.

It is said twice on purpose: the actor imports nothing of the planner that asks it.
"""

from typing import Literal, NamedTuple

Takes = Literal["nothing", "process", "gpu", "node"]


class Row(NamedTuple):
    """One remedy: what it takes away, how long it may last, when it may be done again."""

    takes: Takes
    cooldown_s: float
    deadline_s: float


MIN, HOUR, DAY = 60.0, 3600.0, 86_400.0

# A reset may be done again after 30 min, a reboot after 2 h, all else after 15 min; a cap moves by
# a step each 5 min at most, on each GPU by itself.
ROWS: dict[str, Row] = {
    "gpu.power_cap": Row("nothing", 5 * MIN, 10 * MIN),
    "slurm.drain": Row("node", 15 * MIN, 10 * MIN),
    "slurm.resume": Row("nothing", 15 * MIN, 30 * MIN),
    "slurm.requeue": Row("process", 15 * MIN, 10 * MIN),
    "kubernetes.cordon": Row("node", 15 * MIN, 10 * MIN),
    "kubernetes.uncordon": Row("nothing", 15 * MIN, 30 * MIN),
    "kubernetes.evict": Row("process", 15 * MIN, 10 * MIN),
    "process.end_orphan": Row("process", 15 * MIN, 10 * MIN),
    "persistenced.restart": Row("gpu", 30 * MIN, 10 * MIN),
    "gpu.reset": Row("gpu", 30 * MIN, 30 * MIN),
    "fabric_manager.restart": Row("node", 30 * MIN, 30 * MIN),
    "slurm.reboot": Row("node", 2 * HOUR, 2 * HOUR),
}
REBOOT = "slurm.reboot"
