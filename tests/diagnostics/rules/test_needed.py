"""What a line must hold for an expression to match."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import every
from diagnostics.rules.needed import needed


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"(?:Detected|the following) (?:an )?XID (?:errors? )?(?P<xid>\d{1,4})", "XID "),
        (r"ab?cde", "cde"),
        (r"abc{0,2}d", "ab"),
        (r"abc|abd", ""),
        (r"(?i)abc", ""),
        (r"(?i:abc) d", " d"),
        (r"x\.cc:\d{1,4}", "x.cc:"),
        (r"[Ll]oss(?<!val.[Ll]oss)", "oss"),
        (r"a\bbc(d)", "bc"),
        (r"", ""),
    ],
)
def test_what_is_needed(expression: str, expected: str) -> None:
    """Letters that stand outside of groups and are not repeated."""
    assert expected == needed(expression)


PIECES = st.sampled_from(
    ("a", "bc", "b?", "c*", "(?:ab|c)", "(?:a)?", "[ab]", r"\.", r"\d", "a{2}", "(?<!a)", "|", "^")
)


@given(st.lists(PIECES, max_size=6).map("".join), st.text("abc. 1", max_size=12))
def test_whatever_matches_holds_it(expression: str, text: str) -> None:
    """Of any expression and any text."""
    assert re.search(expression, text) is None or needed(expression) in text


def test_each_example_holds_what_its_rule_needs() -> None:
    """And half of the rules need something that few lines hold."""
    rules = every()
    absent = [r.id for r in rules for text in r.example if r.needed not in text]
    without = sum(len(rule.needed) < len("nan") for rule in rules)

    assert ([], True) == (absent, without < len(rules) / 2)
