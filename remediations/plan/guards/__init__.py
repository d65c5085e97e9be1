"""The guards: each answers with an objection in words, or with nothing; all of them are asked.

A guard's verdict is what its objection makes of an action: `advised` and `observed` leave it to a
person, `waits` goes away by itself, `refused` needs somebody to change something.
"""

from remediations.plan.guards import allowed, fleet, grounds, node, often
from remediations.plan.guards.guard import Guard

# Asked in this order; the first objection is the one that is said.
GUARDS: tuple[Guard, ...] = (
    *allowed.GUARDS,
    *grounds.GUARDS,
    *node.GUARDS,
    *often.GUARDS,
    *fleet.GUARDS,
)
