"""The index of the address that NCCL takes on a RoCE port."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.network.gids import Gid
from diagnostics.nccl.gid import automatic, fixed

# As mlx5 orders them: each address twice, first for RoCE v1.
LOCAL = (Gid(index=0, address="fe80::a1", version=1), Gid(index=1, address="fe80::a1", version=2))
FOUR = (
    Gid(index=2, address="::ffff:192.0.2.17", version=1),
    Gid(index=3, address="::ffff:192.0.2.17", version=2),
)
SIX = (
    Gid(index=4, address="2001:db8::17", version=1),
    Gid(index=5, address="2001:db8::17", version=2),
)
OTHER = (
    Gid(index=6, address="::ffff:198.51.100.17", version=1),
    Gid(index=7, address="::ffff:198.51.100.17", version=2),
)


@pytest.mark.parametrize(
    ("gids", "settings", "expected"),
    [
        ((*LOCAL, *FOUR, *SIX), {}, 3),
        ((*LOCAL, *FOUR, *SIX), {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, 5),
        ((*LOCAL, *FOUR, *SIX), {"NCCL_IB_ROCE_VERSION_NUM": "1"}, 2),
        ((*LOCAL, *FOUR, *OTHER), {"NCCL_IB_ADDR_RANGE": "198.51.100.0/24"}, 7),
        ((*LOCAL, *FOUR, *OTHER), {"NCCL_IB_ADDR_RANGE": "no range"}, 3),
        (LOCAL, {}, 0),
        ((*LOCAL, *SIX), {}, 0),
        ((), {}, 0),
    ],
)
def test_what_nccl_chooses(
    gids: tuple[Gid, ...], settings: Mapping[str, str], expected: int
) -> None:
    """An IPv4 address over RoCE v2 goes first; where none fits, index 0 whatever it holds."""
    assert expected == automatic(gids, settings)


@pytest.mark.parametrize(
    ("value", "expected"), [("3", 3), ("0", 0), ("-1", None), ("", None), ("x", 0)]
)
def test_what_a_person_fixes(value: str, expected: int | None) -> None:
    """A number of 0 or more is taken as it is; -1 leaves the choice."""
    assert expected == fixed({"NCCL_IB_GID_INDEX": value})


@given(
    st.lists(st.sampled_from((*LOCAL, *FOUR, *SIX, *OTHER)), unique=True),
    st.sampled_from(["", "AF_INET", "AF_INET6", "AF_UNIX"]),
    st.text(max_size=20),
)
def test_the_choice_does_not_hang_on_the_order_of_the_table(
    gids: list[Gid], family: str, within: str
) -> None:
    """The index counts, not where an entry stands in what was read."""
    settings = {"NCCL_IB_ADDR_FAMILY": family, "NCCL_IB_ADDR_RANGE": within}

    assert automatic(gids, settings) == automatic(gids[::-1], settings)
