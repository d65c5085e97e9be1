"""Each recorded node with one more fault that has nothing to do with it: both are told."""

from pathlib import Path

import pytest

from tests.nodes.build.__main__ import ALL
from tests.nodes.build.overlaid import OVERLAYS
from tests.nodes.chosen import chosen
from tests.nodes.replay import replay, replay_at
from tests.nodes.told import told

SHARE = 12
ANY_PORT = "a port that names no interface is taken for that of any"
ANY_LINK = "any interface without a link is taken for one that NCCL would have used"
# Pairs that come out wrong, tried each time: one that comes out right is struck off.
WRONG = {
    ("ib-port-down", "bond"): ANY_PORT,
    ("ib-no-sm", "bond"): ANY_PORT,
    ("nccl-docker0", "bond"): ANY_LINK,
    ("nccl-half-the-rails", "bond"): ANY_LINK,
}


def known(name: str, over: str) -> list[pytest.MarkDecorator]:
    why = WRONG.get((name, over))
    return [pytest.mark.xfail(strict=True, reason=why)] if why else []


PAIRS = [
    pytest.param(name, over, id=f"{name}-{over}", marks=known(name, over))
    for name in ALL
    for over in OVERLAYS
    if (name, over) in WRONG or chosen(name, over, one_in=SHARE)
]


@pytest.mark.parametrize(("name", "over"), PAIRS)
def test_both_root_causes_are_told(name: str, over: str, tmp_path: Path) -> None:
    """The node's own root causes stand as before, and the other fault beside them."""
    overlay = OVERLAYS[over]
    overlay.over(ALL[name]()).recording().write(tmp_path / name)
    before, after = told(replay(name)), told(replay_at(tmp_path / name))
    new = {(fault, overlay.of and of) for fault, of in after - before}

    assert (before, {(overlay.fault, overlay.of)}) == (before & after, new)
