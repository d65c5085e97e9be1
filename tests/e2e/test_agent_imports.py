"""What the daemon imports, exactly: every node pays for it in memory, all the time."""

import json
from pathlib import Path

import pytest

from tests.e2e.agents import agent
from tests.test_imports import SITE, STRUCTS, WATCHED, imported

BARE = {"asyncio", "click", "hyperscan", "structlog"} | STRUCTS
HTTP = {"backports", "h11"}
REPORTING = '[agent]\nmetrics = ""\n[report]\naggregator = "http://127.0.0.1:9"\n'
NEVER = {
    "rich",
    "pydantic",
    "jinja2",
    "cryptography",
    "kubernetes",
    "psutil",
    "pynvml",
    "requests",
    "yaml",
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param('[agent]\nmetrics = ""\n', BARE, id="no endpoint"),
        pytest.param("", BARE, id="endpoint"),
        pytest.param(REPORTING, BARE | HTTP, id="aggregator"),
    ],
)
def test_what_the_daemon_imports(tmp_path: Path, settings: str, expected: set[str]) -> None:
    """One HTTP library where one is used; a settings file is checked apart, so never pydantic."""
    out = tmp_path / "imported.json"
    with agent(tmp_path, settings, ("-c", WATCHED, str(out), SITE)) as one:
        one.told("WATCHDOG=1")
        one.end()
    found = set(json.loads(out.read_text()))

    assert (set(), expected) == (found & NEVER, found)


def test_what_the_hook_imports(tmp_path: Path) -> None:
    """A prolog runs before each job on each node: click, and nothing else that is installed."""
    assert {"click"} == imported(tmp_path, "hook", "prolog")
