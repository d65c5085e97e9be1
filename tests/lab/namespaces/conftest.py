"""A pair of hosts as a fixture."""

from collections.abc import Iterator

import pytest

from tests.lab.namespaces.pair import Pair


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Lay a cable to another host."""
    with Pair() as laid:
        yield laid
