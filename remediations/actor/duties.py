"""What else this node does for others, by the kernel's own list of processes.

The planner looks, too; the actor looks again at the moment at which something is to be taken away,
and takes nobody's word for it. A process that cannot be read has ended meanwhile.
"""

from pathlib import Path

from remediations.duty import duty


def duties(proc: Path = Path("/proc")) -> list[str]:
    """Return what this node is for others, each once."""
    return sorted({_duty(path) for path in proc.glob("[0-9]*")} - {""})


def _duty(process: Path) -> str:
    try:
        comm = (process / "comm").read_text(errors="replace").rstrip("\n")
        # Only the kernel's threads have no words; of others that is not asked.
        return duty(comm, kernel=False) or duty(comm, kernel=_wordless(process, comm))
    except OSError:
        return ""


def _wordless(process: Path, comm: str) -> bool:
    return comm[-1:].isdigit() and (process / "cmdline").read_bytes() == b""
