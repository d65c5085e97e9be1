"""The vendor's own report, made as root before a repair destroys what it tells; drained nodes only.

It asks the driver everything, which may hang on the very GPU that is sick, and it stops a job that
runs. So it is made where nothing runs, has ten minutes, and no repair waits for it longer.
"""

from pathlib import Path

from remediations.actor import slurm
from remediations.actor.registry import Refused, Turn, question, verb
from remediations.actor.run import Unsure, run

TOOL = "nvidia-bug-report.sh"
MOST_S = 600.0
KEPT = 5
# It ends in .gz by itself; what is over this is removed: the disk is the node's.
MOST_BYTES = 256 << 20


@question
def bug_reported(state: Path) -> bool:
    """Return True: a report that is missing holds up no repair."""
    del state
    return True


@verb("gpu.reset", "fabric_manager.restart", "slurm.reboot")
def bug_report(turn: Turn) -> str:
    """Write the report into the actor's folder; say why there is none, and never object."""
    try:
        now = slurm.seen()
    except Refused as no:
        return f"no report: it is not known whether the node is drained: {no.detail}"
    if "DRAIN" not in now["states"] or "IDLE" not in now["states"]:
        return f"no report: the node is not drained: {'+'.join(now['states'])}"
    folder = turn.state / "bug-reports"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{turn.id}.log"
    try:
        ran = run(TOOL, "--output-file", str(path), seconds=min(MOST_S, max(turn.left_s / 2, 1.0)))
    except Refused as no:
        return f"no report: {no.detail}"
    except Unsure as late:
        return f"no report: {late}"
    _bounded(folder)
    return f"{TOOL} ended with {ran.status}: {folder}"


def _bounded(folder: Path) -> None:
    """Keep the newest, and none that is too large."""
    every = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in every[:-KEPT]:
        path.unlink(missing_ok=True)
    for path in every[-KEPT:]:
        if path.exists() and path.stat().st_size > MOST_BYTES:
            path.unlink()
