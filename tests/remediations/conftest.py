"""An actor for each test that asks for one; killed at its end with all that it started."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remediations.actors import Started

StartActor = Callable[..., Started]


@pytest.fixture
def start_actor(tmp_path: Path) -> Iterator[StartActor]:
    """Return what starts an actor with the named remedies in act."""
    started: list[Started] = []

    def start(*acting: str, **other: Any) -> Started:
        actor = Started(tmp_path, *acting, **other)
        started.append(actor)
        actor.start()
        return actor

    yield start
    for actor in started:
        actor.kill()
