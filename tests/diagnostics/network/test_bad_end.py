"""Which end of a failed way is the bad one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.checks.network.bad_end import Tried, bad_end, worst_end

NAMES = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("tried", "end"),
    [
        ({("a", "b"): False}, "unknown"),
        ({("a", "b"): False, ("a", "c"): True}, "second"),
        ({("a", "b"): False, ("a", "c"): False}, "first"),
        ({("a", "b"): False, ("a", "c"): True, ("c", "b"): True}, "between"),
        ({("a", "b"): False, ("a", "c"): True, ("c", "b"): False}, "second"),
        ({("a", "b"): False, ("a", "c"): False, ("c", "b"): True}, "first"),
        ({("a", "b"): False, ("a", "c"): False, ("c", "b"): False}, "unknown"),
        ({("a", "b"): False, ("c", "b"): True}, "unknown"),
    ],
)
def test_ends(tried: Tried, end: str) -> None:
    """An end that reaches others is good, one that reaches none is bad where the other is good."""
    assert end == bad_end("a", "b", tried)


@given(st.sampled_from(NAMES), st.integers(3, len(NAMES)))
def test_one_bad_node_is_found(bad: str, count: int) -> None:
    """Where all ways of one node fail and no other does, that node is named."""
    names = sorted({bad, *NAMES[:count]})
    tried = {pair: bad not in pair for pair in itertools.permutations(names, 2)}

    assert bad == worst_end(tried)


@given(st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), st.booleans()))
def test_nobody_is_blamed_who_answered(tried: Tried) -> None:
    """Whoever takes part in a way that works is never the worst end."""
    good = {name for pair, answered in tried.items() if answered for name in pair}

    assert worst_end(tried) not in good


@given(st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), st.booleans()))
def test_both_ends_are_judged_alike(tried: Tried) -> None:
    """That both ends are good is said from either end."""
    here, there = bad_end("a", "b", tried), bad_end("b", "a", tried)

    assert (here == "between") == (there == "between")
