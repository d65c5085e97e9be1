"""Whether a log holds a fault that only a rule of the site knows."""

from collections.abc import Iterator, Sequence

from diagnostics.check import Check, check
from diagnostics.checks.training.judging import finding, nothing, stories
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs


def of_others(checks: Sequence[Check]) -> Check:
    """Return the check of all faults in a job's log that none of *checks* can name."""
    theirs = frozenset(fault for one in checks for fault in one.faults)

    @check("training.site_rules", stage="training", faults=(), proved="documented")
    def site_rules(seen: TrainingLogs) -> Iterator[Statement]:
        """No line holds a fault that only a rule of this site knows.

        A site's rule may name any fault, its own ones too: what it finds in a job's log must be
        said also where no check that comes with the program knows that fault.
        """
        groups = [(story, told) for story in stories(seen) for told in story.beside(theirs)]
        for story, told in groups:
            yield finding(told, story.severity(told))
        if not groups:
            yield nothing(seen, "a fault that only a rule of the site knows")

    return site_rules
