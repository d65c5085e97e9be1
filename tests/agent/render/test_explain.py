"""The pages of `explain`: every fault, check and rule has one, short and unlike any other."""

import pytest

from agent.cli.explain import entries
from agent.knowledge import every
from agent.render.lines import cells, plain
from diagnostics.catalog import WALK
from diagnostics.knowledge.aliases import codes, named
from diagnostics.knowledge.pages import load

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
    names = [*load(), *(c.name for c in WALK), *(r.id for r in every()), *codes()]

    assert len(names) == len(set(names))


def test_every_fault_a_check_or_rule_can_name_has_a_page() -> None:
    """Whatever `run` or `logs` can say, `explain` explains."""
    told = {fault for c in WALK for fault in c.faults} | {r.fault for r in every()}
    # What a rule fills with a number is a code, and codes share pages.
    told = {named(fault) for fault in told if "{" not in fault}

    assert set() == told - set(load()) - set(codes())


def test_codes_lead_to_the_named_fault() -> None:
    """A code has a page of its own, which names the fault as which it is told."""
    expected = {
        "xid_79": "gpu_fell_off_bus",
        "xid_31": "xid_other",
        "sxid_20034": "nvswitch_sxid_fatal",
        "sxid_12028": "nvswitch_sxid_nonfatal",
    }

    assert expected == {name: named(name) for name in expected}
    assert list(expected.values()) == [PAGES[name].split()[-1] for name in expected]


def test_a_code_of_tomorrow_has_the_page_of_its_kind() -> None:
    """A number that no table has is told, and explained as far as its kind goes."""
    assert ["xid_other", "nvswitch_sxid_nonfatal"] == [named("xid_4711"), named("sxid_47110")]
