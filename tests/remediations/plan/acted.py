"""What would be done on each recorded node, with every remedy in `act`: the table, and how made.

`python -m tests.remediations.plan.acted` writes it anew; the difference is to be read line by line.
"""

from pathlib import Path

from remediations.plan.decide import decide
from tests.nodes.replay import NAMES
from tests.remediations.plan.rehearsal import variants

TABLE = Path(__file__).parent / "acted.txt"
# As it was recorded; idle in Slurm's use; idle in Kubernetes'; idle, drained and cordoned by us.
STANDS = ("recorded", "slurm", "kubernetes", "ours")
HEAD = "# node, how it stands: remedy, fault, subject; written by tests.remediations.plan.acted\n"


def table() -> str:
    """Return a line for each recording, and one for each act that it would see."""
    return HEAD + "".join(f"{name}\n{_acts(name)}" for name in NAMES)


def _acts(name: str) -> str:
    lines = [
        f"  {stands}: {one.action.remedy}, {one.action.fault}, {one.action.subject}\n"
        for stands, given in zip(STANDS, variants(name), strict=True)
        for one in decide(given)
        if one.verdict == "acts"
    ]
    return "".join(lines)


if __name__ == "__main__":
    TABLE.write_text(table())
