"""The document of a walk is ground enough for the same decisions as the walk itself."""

import msgspec
import pytest

from diagnostics.document import Document
from diagnostics.knowledge import pages
from remediations.plan.advise import propose
from remediations.plan.decide import decide
from remediations.plan.situation import Acting, situation
from remediations.policy import Policy
from tests.remediations.plan.rehearsal import EVERYTHING, NOW, seen
from tests.remediations.plan.sick import ROOT, of, sick


@pytest.mark.parametrize("name", ["h100-gpu-lost", "ecc-uncorrectable", "h100-idle"])
def test_what_was_told_as_json_is_decided_upon_alike(name: str) -> None:
    """The agent hands its diagnosis to a command as text; times are left out."""
    document, stands = seen(name)
    again = msgspec.convert(msgspec.json.decode(document.encode()), Document)
    acting = Acting(policy=EVERYTHING, actor=True, person=True, rehearsal=True)

    assert decide(situation(document, stands, acting, now=NOW)) == decide(
        situation(again, stands, acting, now=NOW)
    )


def test_a_plan_line_names_the_remedy_and_why_it_is_only_advised() -> None:
    """The steps beside it are a person's: first what the GPU needs."""
    line = propose(sick(policy=Policy()), pages.load())[0]

    assert ("slurm.drain", "i1", "advised", True, True) == (
        line.remedy,
        line.incident,
        line.decision,
        line.reason.startswith("slurm.drain is in advise; "),
        line.steps[0].startswith("drain and reboot the node"),
    )


def test_where_no_remedy_answers_the_steps_stand_alone() -> None:
    """A fault of a job's own is nobody's to repair but its user's."""
    line = propose(sick(of(ROOT, fault="nan_loss", stage="training")), pages.load())[0]

    assert ("advise", "advised") == (line.remedy, line.decision)


def test_a_remedy_that_a_rule_of_the_site_names_is_spoken_of() -> None:
    """It is none of ours, and never acts."""
    line = propose(sick(of(ROOT, remedies=("nic.swap_optics",))), pages.load())[0]

    assert ("nic.swap_optics", "advised") == (line.remedy, line.decision)
