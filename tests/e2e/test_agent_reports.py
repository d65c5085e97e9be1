"""From an agent to an aggregator, both as processes: enrolled by one file, then heard."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import agent, until


def make_token(data: Path, role: str) -> str:
    argv = [sys.executable, "-I", "-m", "aggregator", "token", "create", "--data", str(data)]
    argv += ["--role", role, "--name", role]
    made = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return made.stdout.split()[-1]


@pytest.fixture
def aggregator(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve on a free port; returns where, and the folder of its database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    data = tmp_path / "data"
    argv = [sys.executable, "-I", "-m", "aggregator", "serve", "--data", str(data)]
    with (tmp_path / "aggregator.log").open("w") as log:
        process = subprocess.Popen([*argv, "--listen", place], stderr=log, stdout=log)
        try:
            until(lambda: _answers(f"http://{place}/readyz"), "the aggregator is ready")
            yield f"http://{place}", data
        finally:
            process.terminate()
            process.wait(20.0)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - a loopback address
            return bool(answer.status == 200)
    except OSError:
        return False


def get(url: str, token: str) -> Any:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - a loopback address
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - same
        return json.loads(answer.read())


def test_one_file_and_the_node_is_heard(tmp_path: Path, aggregator: tuple[str, Path]) -> None:
    """A join token in a file: the agent enrols, reports its walk, and shows that it was heard."""
    url, data = aggregator
    (tmp_path / "join").write_text(make_token(data, "join"))
    viewer = make_token(data, "viewer")
    settings = f'[agent]\nmetrics = ""\n[report]\naggregator = "{url}"\n'
    settings += f'join_token = "{tmp_path / "join"}"\n'
    with agent(tmp_path, settings) as one:
        one.told("WATCHDOG=1")

        def heard() -> Any:
            report = one.ask(ask="status")["ok"]["agent"]["report"]
            return report if report["acknowledged_s"] is not None else None

        report = until(heard, "a report is acknowledged")
        status = one.ask(ask="status")["ok"]
        nodes = get(f"{url}/v1/nodes", viewer)
        code, took = one.end()
    mode = (tmp_path / "state" / "credential.json").stat().st_mode & 0o777

    assert ([status["node"]], None, 0, 0o600, 0, True) == (
        [entry["node"] for entry in nodes["items"]],
        report["problem"],
        report["lost"],
        mode,
        code,
        took < 5.0,
    )
