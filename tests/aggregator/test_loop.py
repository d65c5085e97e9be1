"""Which event loop the server runs on: the faster one where it is installed."""

import asyncio
import importlib.util
import sys
from pathlib import Path

import pytest

from aggregator.cli import loop_factory


def test_uvloop_is_used_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of that name makes the loop; the server runs on what it returns."""
    (tmp_path / "uvloop.py").write_text(
        "import asyncio\n"
        "class Loop(asyncio.SelectorEventLoop):\n    pass\n"
        "def new_event_loop():\n    return Loop()\n"
    )
    monkeypatch.delitem(sys.modules, "uvloop", raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    async def name() -> str:
        return type(asyncio.get_running_loop()).__module__

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        found = runner.run(name())
    sys.modules.pop("uvloop", None)

    assert "uvloop" == found


def test_without_it_python_s_own_loop_does() -> None:
    """Not installed, it is not missed; installed, this test has nothing to say."""
    if importlib.util.find_spec("uvloop") is not None:
        pytest.skip("uvloop is installed here")

    assert loop_factory() is None
