"""The simulated fabric as a fixture."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.infiniband.fabric import Fabric


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    """Run a fabric without a subnet manager, of this test's own."""
    with Fabric(tmp_path) as running:
        yield running
