"""Put a simulated library under the binding for one test, and take it away again."""

from collections.abc import Iterator

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from collectors.gpu.simulator.library import Simulator
from tests.collectors.gpu.simulator.simulated import Simulated, simulated


@pytest.fixture(name="simulated")
def _simulated() -> Iterator[Simulated]:
    """Install a scenario with `simulated(text)`; a call that no program may make fails the test."""
    kept = pynvml.nvmlLib, pynvml._nvmlLib_refcount
    made = list[Simulator]()
    yield lambda text, start=True: simulated(text, made, start=start)
    pynvml.nvmlLib, pynvml._nvmlLib_refcount = kept
    pynvml._nvmlGetFunctionPointer_cache.clear()
    assert [] == [error for simulator in made for error in simulator.errors]
