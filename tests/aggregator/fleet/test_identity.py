"""Serial numbers against names and machine ids."""

import pytest

from aggregator.fleet import identity


@pytest.mark.parametrize(
    ("machine", "before", "after", "elsewhere", "kinds"),
    [
        (("m", "m"), "abc", "abc", {}, []),
        ((None, "m"), "", "abc", {}, []),
        (("m", None), "abc", "abc", {}, []),
        (("m", "m"), "abc", "", {}, []),
        (("m", "m"), "abc", "abd", {}, []),
        (("m", "k"), "abc", "abd", {}, ["reimaged"]),
        (("m", "k"), "abc", "def", {}, ["replaced"]),
        ((None, "m"), "", "abc", {"a": "old", "b": "old"}, ["renamed"]),
        (("m", "m"), "abc", "abd", {"d": "old"}, ["part_moved"]),
        (("m", "m"), "abc", "def", {"d": "o", "e": "o", "f": "o"}, ["renamed", "replaced"]),
    ],
)
def test_machine(
    machine: tuple[str | None, str | None],
    before: str,
    after: str,
    elsewhere: dict[str, str],
    kinds: list[str],
) -> None:
    """A snapshot tells of a rename, a new installation, an exchange, or of nothing."""
    noticed = identity.of_machine("n", machine, before, after, elsewhere)
    assert kinds == [one.kind for one in noticed]


def test_rename_is_said() -> None:
    """The sentence names both names and on what it rests."""
    (noticed,) = identity.of_machine("new", (None, "m"), "", "abc", {"a": "old", "b": "old"})
    assert "new was old: 2 of its 3 parts were there" == noticed.text


@pytest.mark.parametrize(("sent", "shared"), [(100, False), (160, False), (161, True)])
def test_shared_name(sent: float, shared: bool) -> None:  # noqa: FBT001 - a column of the table
    """A boot that goes on a minute after another one began is a second machine."""
    assert shared == (identity.shared_name("n", "b-1", sent, 100) is not None)
