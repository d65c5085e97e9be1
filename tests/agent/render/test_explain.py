"""The pages of `explain`: every fault, check and rule has one, short and unlike any other."""

import pytest

from agent.cli.explain import entries
from agent.render.lines import cells, plain
from diagnostics.catalog import WALK
from diagnostics.knowledge.aliases import ALIASES
from diagnostics.knowledge.pages import load
from diagnostics.rules.rule import load as load_rules

WIDTH = 100
MOST_LINES = 25
PAGES = {name: plain(drawing(WIDTH)) for name, drawing in entries().items()}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short(name: str) -> None:
    """A page has under 25 lines, none wider than asked, none ending in a space."""
    lines = PAGES[name].splitlines()

    assert [] == [line for line in lines if cells(line) > WIDTH or line != line.rstrip()]
    assert len(lines) < MOST_LINES


def test_no_two_pages_share_a_text() -> None:
    """Beyond its own name each page says something of its own: no sentence stands on two pages."""
    bodies = [text.partition("\n\n")[2].partition("\n\n")[0] for text in PAGES.values()]

    assert len(bodies) == len(set(bodies))


def test_one_name_means_one_thing() -> None:
    """Faults, checks, rules and codes share one namespace."""
    names = [*load(), *(c.name for c in WALK), *(r.id for r in load_rules()), *ALIASES]

    assert len(names) == len(set(names))


def test_every_fault_a_check_or_rule_can_name_has_a_page() -> None:
    """Whatever `run` or `logs` can say, `explain` explains."""
    named = {fault for c in WALK for fault in c.faults} | {r.fault for r in load_rules()}

    assert set() == named - set(load())


def test_codes_lead_to_the_named_fault() -> None:
    """`explain xid_79` is the page of the fault that carries the code's name."""
    assert "gpu_fell_off_bus" == ALIASES["xid_79"]
