"""The steps of a plan: sentences with a number, and what is typed as it is typed."""

import pytest

from agent.cli.incident import replayed
from agent.render.language import SPOKEN
from agent.render.lines import plain
from agent.render.page import Page
from agent.render.steps import steps
from diagnostics.messages.catalogue import load
from remediations.remedies import job_lines
from tests.nodes.replay import NODES


def drawn(*told: str) -> list[str]:

    page = Page(replayed(str(NODES / "h100-idle")), width=80, ascii_only=True, everything=True)
    return plain(steps(page, told, 2)).splitlines()


def test_lines_stand_together_below_their_place() -> None:
    """One item for all that goes to one place, and the next number after it."""
    told = ("in the job's script: export A='1'", "in the job's script: export B='2'", "look again")
    lines = [line.strip() for line in drawn(*told)]
    heading = "2. In the job's script, for the next start:"
    assert [heading, "export A='1'", "export B='2'", "3. Look again."] == lines


@pytest.mark.parametrize("where", job_lines.PLACES)
def test_each_place_has_its_heading(where: str) -> None:
    """In both languages: a line is never read as a sentence."""
    english = drawn(f"{where}: x=1")
    SPOKEN.set(load("zh"))
    try:
        spoken = SPOKEN.get()
        assert spoken is not None
        chinese = drawn(f"{spoken.word(where)}: x=1")
    finally:
        SPOKEN.set(None)
    assert (["x=1"], ["x=1"], True) == (
        [line.strip() for line in english[1:]],
        [line.strip() for line in chinese[1:]],
        english[0] != chinese[0],
    )
