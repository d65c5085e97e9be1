"""An action that nobody finishes is handed over to a person, so that it is not open for ever.

While one is open no other is begun, also by a person at the keyboard; and who began it may be gone,
or may leave it open on purpose.
"""

import sys
from pathlib import Path

from remediations.actor import clock, counts
from remediations.actor.journal import Acted, Journal
from remediations.actor.registry import every
from remediations.actor.rows import HOUR
from remediations.policy import Policy

# After the deadline there is the way back, and an agent that is being upgraded comes again.
GRACE_S = HOUR
SAID = "nobody finished it within an hour of its deadline"


@every(60.0)
def hand_over(state: Path, policy: Policy | None) -> None:
    """End what is long over its deadline, unless a step of it is being done."""
    del policy
    journal = Journal(state)
    # A step that comes while the lock is held is refused: it is taken where there is a need.
    if not any(map(_abandoned, journal.actions().values())):
        return
    with journal.locked("act", wait=False) as mine:
        for acted in filter(_abandoned, journal.actions().values() if mine else ()):
            line = {"kind": "end", "id": acted.id, "outcome": "handed_over", "said": SAID}
            journal.write(line | clock.stamp())
            sys.stderr.write(f"end {acted.id} handed_over {SAID}\n")


def _abandoned(acted: Acted) -> bool:
    return acted.end is None and counts.left_s(acted) <= -GRACE_S
