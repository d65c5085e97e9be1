"""R23: settings that are broken are refused with their key, and the last good ones go on."""

import signal
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import said, served

pytestmark = pytest.mark.serial


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        pytest.param("[[places]]\nnodes = []\n", "places.0.nodes", id="a wrong value"),
        pytest.param("keep_weeks = 5\n", "keep_weeks: unknown key", id="an unknown key"),
        pytest.param("[[places]\n", "Expected", id="no TOML"),
        pytest.param(None, "no such file", id="no file"),
    ],
)
def test_broken_settings(tmp_path: Path, broken: str | None, problem: str) -> None:
    """Refused with one line, served on; mended, they are taken over."""
    port = free_port()
    config = tmp_path / "aggregator.toml"
    with served(tmp_path, port, "") as process:
        good = config.read_text()
        config.unlink() if broken is None else config.write_text(good + broken)
        process.send_signal(signal.SIGHUP)
        refused = said(process)
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            ready = answer.status
        config.write_text(good)
        process.send_signal(signal.SIGHUP)
        taken = said(process)["event"]

    event = "reload refused, the last good settings go on"
    assert (event, True, 200, "reloaded") == (
        refused["event"],
        problem in str(refused),
        ready,
        taken,
    )
