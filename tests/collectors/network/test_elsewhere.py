"""How a job is set up elsewhere: nothing that a node finds out alone."""

import asyncio
from pathlib import Path

from collectors.facts.wanted import Wanted
from collectors.network.elsewhere import JobsElsewhere, collect
from tests.recording import recorded


def test_a_node_alone_knows_nothing_of_others(tmp_path: Path) -> None:
    """Without an agent that reports nobody told: no job is compared, and none is unknown."""
    assert JobsElsewhere() == asyncio.run(collect(recorded(tmp_path), Wanted()))
