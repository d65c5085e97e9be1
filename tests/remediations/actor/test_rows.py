"""What the actor knows of the remedies, and what the planner says of them, are the same."""

from remediations.actor import verbs
from remediations.actor.registry import VERBS
from remediations.actor.rows import ROWS, Row
from remediations.plan.catalog import REMEDIES


def test_rows_are_the_plans() -> None:
    """Each remedy takes the same, and has the same cool-down and deadline, on both sides."""
    planned = {
        name: Row(row.takes, row.cooldown_s, row.deadline_s) for name, row in REMEDIES.items()
    }
    assert planned == ROWS


def test_verbs_are_the_plans() -> None:
    """What the actor lets a remedy use is what its row names; the rest is not written yet."""
    verbs.load()
    allowed = {
        (name, remedy) for name, verb in VERBS.items() for remedy in verb.remedies if remedy in ROWS
    }
    planned = {(verb, name) for name, row in REMEDIES.items() for verb in row.verbs}
    assert set() == {pair for pair in allowed if pair not in planned and "test" not in pair[0]}
