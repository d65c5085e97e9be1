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
    proved: bool = False


MIN, HOUR, DAY = 60.0, 3600.0, 86_400.0

# Cool-downs: a reset 30 min, a reboot 2 h, a cap 15 min; what only marks a node has none of its own
# but the ladder's. A drain waits for the node's jobs: its deadline is the longest job's.
ROWS: dict[str, Row] = {
    "gpu.power_cap": Row("nothing", 15 * MIN, 10 * MIN, proved=True),
    "slurm.drain": Row("node", 15 * MIN, 10 * MIN, proved=True),
    "kubernetes.cordon": Row("node", 15 * MIN, 10 * MIN),
    "process.end_orphan": Row("process", 15 * MIN, 10 * MIN),
    "slurm.requeue": Row("process", 30 * MIN, 10 * MIN),
    "persistenced.restart": Row("gpu", 30 * MIN, 10 * MIN),
    "fabric_manager.restart": Row("node", 30 * MIN, 30 * MIN),
    "gpu.reset": Row("gpu", 30 * MIN, 30 * MIN),
    "slurm.reboot": Row("node", 2 * HOUR, DAY),
    "slurm.resume": Row("nothing", 0.0, 30 * MIN),
}
