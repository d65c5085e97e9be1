"""The boxes as a fixture: the tests of one wait for all of them, and no test runs beside them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.boxes import BOXES, Booted, booted


@pytest.fixture(scope="session")
def boxes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Booted]:
    """Boot the boxes of which tests are to run."""
    asked = {item.path.stem for item in request.session.items}
    return booted([name for name in BOXES if name in asked], tmp_path_factory.mktemp("boxes"))


@pytest.fixture(scope="module")
def box(request: pytest.FixtureRequest, boxes: Mapping[str, Booted]) -> Path:
    """Return the folder of what was seen in the box of this module."""
    share, done = boxes[request.path.stem]
    assert (share / "journal").exists(), done
    return share
