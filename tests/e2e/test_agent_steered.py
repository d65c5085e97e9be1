"""Real agents and a real aggregator: pause, mutual TLS."""

import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from agent.daemon.reporting import HEARTBEAT_S
from tests.aggregator.test_tls import certificate, tls
from tests.e2e.agents import Agent, agent, until
from tests.e2e.aggregators import aggregator, reporting

pytestmark = [pytest.mark.serial, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
# A heartbeat each 3 s: longer than the two that hearing of it may take on slow cores.
SPEED = 10


def heard(one: Agent) -> Any:
    """Return how delivery stands once a report was acknowledged."""
    report = one.ask(ask="status")["ok"]["agent"]["report"]
    return report if report["acknowledged_s"] is not None else None


def logged(one: Agent, event: str) -> bool:
    """Return whether the agent said so."""
    return any(line["event"] == event for line in one.log())


def test_pause_is_heard_within_one_heartbeat(tmp_path: Path) -> None:
    """What `gpudiag fleet pause` sets, the agent knows at its next heartbeat."""
    recorded = str(ROOT / "tests/nodes/h100-idle")
    program = (str(ROOT / "tests/e2e/replaying.py"), "gpu-061", str(SPEED), str(tmp_path), recorded)
    with aggregator(tmp_path / "server") as where:
        operator = where.token("operator")
        with agent(tmp_path, reporting(where, tmp_path), program) as one:
            one.told("WATCHDOG=1")
            until(lambda: heard(one), "a report is acknowledged")
            where.send("POST", "/v1/pause", operator, {"paused": True, "reason": "fire"})
            began = time.monotonic()
            until(lambda: logged(one, "acting_paused"), "the pause is heard")
            took = time.monotonic() - began
    assert took < HEARTBEAT_S / SPEED + 2


@pytest.mark.tool("openssl")
def test_mutual_tls(tmp_path: Path) -> None:
    """An agent with a certificate of its own enrols and reports where nobody is heard without."""
    server, own = certificate(tmp_path, "server"), certificate(tmp_path, "node")
    context = ssl.create_default_context(cafile=str(server[0]))
    context.load_cert_chain(*own)
    files = (f'ca = "{server[0]}"', f'certificate = "{own[0]}"', f'key = "{own[1]}"')
    settings = tls(server, f'client_ca = "{own[0]}"')
    with (
        aggregator(tmp_path / "server", settings, context) as where,
        agent(tmp_path, reporting(where, tmp_path, *files)) as one,
    ):
        one.told("WATCHDOG=1")
        report = until(lambda: heard(one), "a report is acknowledged")
        node = one.ask(ask="status")["ok"]["node"]
        listed = where.get("/v1/nodes", where.token("viewer"))["items"]
    assert (None, [node]) == (report["problem"], [entry["node"] for entry in listed])
