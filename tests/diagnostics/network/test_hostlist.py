"""Slurm's lists of hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.checks.network.hostlist import MOST, hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu-[017-019,033],login1", {"gpu-017", "gpu-018", "gpu-019", "gpu-033", "login1"}),
        ("gpu-017", {"gpu-017"}),
        ("n[9-11]", {"n9", "n10", "n11"}),
        ("", set()),
        ("gpu-[017", set()),
        ("[]", set()),
        ("gpu-[000000-999999]", set()),
        ("gpu-[9-1]", set()),
    ],
)
def test_lists(text: str, names: set[str]) -> None:
    """Ranges keep their zeros; what is of another form, or names too many, names nobody."""
    assert names == hosts(text)


@given(st.lists(st.integers(0, 9999), max_size=50, unique=True))
def test_round_trip(numbers: list[int]) -> None:
    """What was written as a list is read as the same hosts."""
    text = f"gpu-[{','.join(f'{n:04}' for n in numbers)}]" if numbers else ""

    assert {f"gpu-{n:04}" for n in numbers} == hosts(text)


@given(st.text(alphabet="gpu-0123456789[],", max_size=200))
def test_any_text_is_bounded(text: str) -> None:
    """No text makes it raise, or name more hosts than there may be."""
    assert len(hosts(text)) <= MOST
