"""Each recorded node with one of its sources silent: the same root causes, or fewer; no others."""

import functools

import pytest

from diagnostics.catalog import WALK
from diagnostics.document import Document
from tests.nodes.ablation import Whole, whole, without
from tests.nodes.chosen import chosen
from tests.nodes.replay import NAMES
from tests.nodes.told import Told, told
from tests.score import truths

TRUTHS = truths()
NEEDED = {check.name: {need.shape for need in check.needs} for check in WALK}
# Of the sources that no telling check asks, one in so many is tried each time.
OTHERS = 60

once = functools.cache(whole)


def tried(name: str, node: Whole) -> list[type]:
    """Return the sources to silence: those behind the root causes, and some of the others."""
    roots = set(node.document.root_causes)
    behind = [NEEDED.get(f["check"], set()) for f in node.document.findings if f["id"] in roots]
    return [
        shape
        for shape in node.answered
        if shape in set().union(*behind) or chosen(name, shape.__name__, one_in=OTHERS)
    ]


def others(name: str, before: Told, after: Told) -> set[tuple[str, str]]:
    """Return the root causes that nobody told before, but for what stands in for an unseen one.

    The same fault may be told of another thing: a GPU that the bus does not name, by its index.
    """
    gone = {fault for fault, _ in before - after}
    allowed = {*gone, *TRUTHS[name].instead} if gone else gone
    return {(fault, of) for fault, of in after - before if fault not in allowed}


def still_well(document: Document, checks: set[str]) -> set[str]:
    """Return which of *checks* say that all is well."""
    return {c.check for s in document.stages for c in s.checks if c.verdict == "ok"} & checks


@pytest.mark.parametrize("name", NAMES)
def test_a_silent_source_makes_no_other_root_cause(name: str) -> None:
    """What is told is told still or no more; nothing else takes its place."""
    node = once(name)
    before = told(node.document)
    after = {s.__name__: told(without(name, node, s)) for s in tried(name, node)}

    assert {} == {one: new for one, got in after.items() if (new := others(name, before, got))}


@pytest.mark.parametrize("name", [name for name in NAMES if TRUTHS[name].roots])
def test_who_told_a_root_cause_does_not_call_it_well_unseen(name: str) -> None:
    """The check that told a root cause, and tells it no more, is not ok."""
    node = once(name)
    calm: dict[str, set[str]] = {}
    for shape in tried(name, node):
        document = without(name, node, shape)
        gone = told(node.document) - told(document)
        checks = {
            f["check"]
            for f in node.document.findings
            if f["severity"] != "info" and (f["fault"], f["subject"]["name"]) in gone
        }
        calm[shape.__name__] = still_well(document, checks)

    assert {} == {one: well for one, well in calm.items() if well}
