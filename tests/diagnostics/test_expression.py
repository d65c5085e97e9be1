"""An expression does what the compiled one does, and is not compiled before it is asked."""

import re

import pytest

from diagnostics.expression import Expression

TEXT = "step 12, step 13"


def test_it_finds_what_the_compiled_one_finds() -> None:
    ours, real = Expression(r"STEP (?P<n>\d+)", re.IGNORECASE), re.compile(r"(?i)step (?P<n>\d+)")
    for one in (ours, real):
        first, second = one.search(TEXT), one.match(TEXT, 9)
        assert first
        assert second
        assert ("12", "13", None, ["12", "13"], "x, x") == (
            first["n"],
            second["n"],
            one.fullmatch(TEXT),
            [hit["n"] for hit in one.finditer(TEXT)],
            one.sub("x", TEXT),
        )


def test_it_is_compiled_when_it_is_first_asked() -> None:
    broken = Expression("(")
    with pytest.raises(re.error):
        broken.search(TEXT)


def test_it_has_nothing_else() -> None:
    assert not hasattr(Expression("x"), "groups")
