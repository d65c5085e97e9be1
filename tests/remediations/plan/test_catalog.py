"""The rows of the remedies: each told whole, and the same as the actor's own."""

from diagnostics.catalog import WALK
from diagnostics.knowledge import pages
from remediations.actor import verbs
from remediations.actor.registry import VERBS
from remediations.actor.rows import ROWS
from remediations.plan.catalog import COUNTED, REMEDIES
from remediations.plan.needs import BY_FAULT, LEFT_OUT
from remediations.policy import PROVED
from remediations.remedies import checks


def test_plan_policy_and_actor_know_the_same_remedies() -> None:
    """By name, and what each takes and how long it may last, too."""
    rows = {n: (r.takes, r.cooldown_s, r.deadline_s) for n, r in REMEDIES.items()}
    theirs = {n: (r.takes, r.cooldown_s, r.deadline_s) for n, r in ROWS.items()}

    assert (list(PROVED), theirs) == (list(REMEDIES), rows)


def test_the_order_is_that_of_trust() -> None:
    """Cap, drain, orphan, reset, reboot."""
    named = ["gpu.power_cap", "slurm.drain", "process.end_orphan", "gpu.reset", "slurm.reboot"]

    assert named == [name for name in REMEDIES if name in named]


def test_each_row_is_told_whole() -> None:
    """As clauses: they stand in tables and in sentences."""
    untold = [
        name
        for name, row in REMEDIES.items()
        for text in (row.does, row.precondition, row.risk, row.verification)
        if not text or text.endswith(".") or not text.isprintable()
    ]

    assert [] == untold


def test_what_takes_something_is_counted() -> None:
    """A cap, and a node given back, are not."""
    free = {"gpu.power_cap", "slurm.resume", "kubernetes.uncordon"}

    assert set(REMEDIES) - free == COUNTED


def test_the_faults_that_are_answered_are_known() -> None:
    """Each has a page, and each check that is run again is one of the walk's."""
    faults = {*BY_FAULT, *LEFT_OUT, *(fault for row in REMEDIES.values() for fault in row.faults)}

    assert set() == faults - set(pages.load())


def test_the_checks_that_verify_are_checks() -> None:
    """A name that is none would be seen well by nobody, and missed by nobody."""
    named = {*checks.GPUS, *checks.NODE, *checks.BOOTED}
    assert set() == named - {check.name for check in WALK}


def test_a_verb_serves_the_remedies_whose_rows_name_it() -> None:
    """The actor refuses a verb to any other remedy, and a row names no more than it may use."""
    verbs.load()
    theirs = {name: set(verb.remedies) for name, verb in VERBS.items()}
    ours = {name: {n for n, row in REMEDIES.items() if name in row.verbs} for name in theirs}

    assert theirs == ours
