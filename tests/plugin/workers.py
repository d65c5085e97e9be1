"""Modules stay whole on one worker, in this order: first what waits long, then what takes long.

Where the last module is a short one, no worker is left alone at the end.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIRST = (
    "lab/torch/test_live.py",
    "e2e/test_heat.py",
    "test_nodes.py",
    "test_ablation.py",
    "remediations/plan/test_rehearsed.py",
    "agent/daemon/test_cluster.py",
    "agent/cli/test_record.py",
    "lab/ipmi/test_odd_bmc.py",
    "remediations/act/test_execute.py",
    "aggregator/test_privacy.py",
    "test_mixing.py",
    "lab/ipmi/test_walk.py",
    "remediations/act/test_fleet_killed.py",
    "lab/torch/test_straggler.py",
    "agent/cli/test_fleet.py",
    "remediations/act/test_killed_often.py",
    "test_packaging.py",
)
RANKS = {ROOT / "tests" / name: rank for rank, name in enumerate(FIRST)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the named modules first; the others stay as they were found."""
    items.sort(key=lambda item: RANKS.get(item.path, len(RANKS)))
