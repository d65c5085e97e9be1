"""Each recorded node with one more fault that has nothing to do with it: both are told."""

from pathlib import Path

import pytest

from tests.nodes.build.__main__ import ALL
from tests.nodes.build.overlaid import OVERLAYS
from tests.nodes.chosen import chosen
from tests.nodes.replay import replay, replay_at
from tests.nodes.told import told

SHARE = 12
# Pairs that came out wrong once: an InfiniBand port, and what NCCL chose, beside another's cable.
ALWAYS = {
    ("ib-port-down", "bond"),
    ("ib-no-sm", "bond"),
    ("nccl-docker0", "bond"),
    ("nccl-half-the-rails", "bond"),
}
PAIRS = [
    pytest.param(name, over, id=f"{name}-{over}")
    for name in ALL
    for over in OVERLAYS
    if (name, over) in ALWAYS or chosen(name, over, one_in=SHARE)
]


@pytest.mark.parametrize(("name", "over"), PAIRS)
def test_both_root_causes_are_told(name: str, over: str, tmp_path: Path) -> None:
    """The node's own root causes stand as before, and the other fault beside them."""
    overlay = OVERLAYS[over]
    overlay.over(ALL[name]()).recording().write(tmp_path / name)
    before, after = told(replay(name)), told(replay_at(tmp_path / name))
    new = {(fault, overlay.of and of) for fault, of in after - before}

    assert (before, {(overlay.fault, overlay.of)}) == (before & after, new)
