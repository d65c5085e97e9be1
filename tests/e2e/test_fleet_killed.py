"""Three agents and an aggregator are killed at random, over a network that loses and doubles."""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen
from sys import executable
from typing import Any

import pytest

from aggregator.store.bodies import text
from tests.aggregator.test_crash import free_port
from tests.e2e.agents import Agent, agent, until
from tests.e2e.aggregators import Served, reporting
from tests.e2e.proxy import Key, Proxy, proxy

KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))
pytestmark = [pytest.mark.serial, pytest.mark.timeout(150 + 10 * KILLS)]

ROOT = Path(__file__).parents[2]
# A walk every quarter of a second, another state of the node every 1.5 s, a snapshot every 7.5 s.
SPEED = "40"
FLEET = {
    "gpu-031": "h100-idle,h100-gpu-lost",
    "gpu-032": "a100-idle,h100-oom",
    "gpu-033": "h100-gpu-lost-unlogged,h200-training",
}


class Server:
    """The aggregator as a process that can be killed and started anew."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.data = folder / "data"
        self.process = self._start()

    def _start(self) -> Popen[bytes]:
        argv = [executable, "-I", "-m", "aggregator", "serve", "--data", str(self.data)]
        return Popen([*argv, "--listen", f"127.0.0.1:{self.port}"], stderr=DEVNULL)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    def again(self) -> None:
        self.process = self._start()

    def stored(self) -> dict[Key, list[Any]]:
        """Return the reports that are on disk."""
        held: dict[Key, list[Any]] = {}
        with closing(sqlite3.connect(self.data / "gpudiag.db", timeout=20)) as connection:
            for *key, body in connection.execute(
                "SELECT node, boot_id, sequence, body FROM reports"
            ):
                held.setdefault((key[0], key[1], key[2]), []).append(json.loads(text(body)))
        return held


@contextmanager
def nodes(folder: Path, between: Proxy) -> Iterator[list[Agent]]:
    """Run the agents; each has enrolled and was heard."""
    where = Served(folder, between.url)
    with ExitStack() as stack:
        running = []
        for name, recordings in FLEET.items():
            own = folder / name
            own.mkdir()
            paths = ",".join(str(ROOT / "tests" / "nodes" / each) for each in recordings.split(","))
            program = (str(ROOT / "tests" / "e2e" / "replaying.py"), name, SPEED, str(own), paths)
            running.append(stack.enter_context(agent(own, reporting(where, own), program)))
        for one in running:
            one.told("WATCHDOG=1")
            until(partial(heard, one), "a report is acknowledged")
        yield running


def heard(one: Agent) -> bool:
    return one.ask(ask="status")["ok"]["agent"]["report"]["acknowledged_s"] is not None


def kill(server: Server, agents: list[Agent]) -> None:
    """Kill one of them, again and again, and start it anew."""
    chance = random.Random(5)  # noqa: S311 - chance of a test
    victims: list[Server | Agent] = [server, *agents, server]
    for turn in range(KILLS):
        time.sleep(chance.uniform(0.5, 2.5))
        # The first two are sure, so that five kills show both sides.
        victim = victims[turn if turn < 2 else chance.randrange(len(victims))]
        victim.end(signal.SIGKILL)
        victim.again()


def settle(where: Served, agents: list[Agent], between: Proxy) -> None:
    """Let all arrive while nothing new comes, and what the agents see now is known."""
    between.kind = True
    viewer = where.token("viewer")
    for one in agents:
        until(partial(walked, one), f"{one.folder.name} walks again")
        (one.folder / "hold").touch()
    for one in agents:
        until(partial(agreed, one, where, viewer), f"what {one.folder.name} sees is known")
    until(lambda: set(between.ledger.sent) <= between.ledger.acknowledged, "all is acknowledged")


def walked(one: Agent) -> bool:
    """Return whether the agent has walked since it was started last."""
    try:
        return one.ask(ask="status")["ok"]["diagnosis"] is not None
    except (OSError, ValueError):
        return False


def agreed(one: Agent, where: Served, viewer: str) -> bool:
    """Return whether the aggregator knows the faults that the agent last saw, and no others."""
    seen = one.ask(ask="status")["ok"]
    known = where.get(f"/v1/nodes/{seen['node']}", viewer)
    return faults(seen["diagnosis"]["findings"]) == faults(known["findings"])


def faults(findings: list[dict[str, Any]]) -> list[str]:
    return sorted({finding["fault"] for finding in findings})


def test_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    """R2, R3: whoever is killed, whatever is lost, doubled or late: each report is there, once.

    What an agent sent before it was killed, its spool has still, under its number; in the end the
    aggregator knows of each node what its agent saw last.
    """
    server = Server(tmp_path)
    try:
        with proxy(server.port) as between, nodes(tmp_path, between) as agents:
            between.kind = False
            kill(server, agents)
            where = Served(tmp_path, f"http://127.0.0.1:{server.port}")
            settle(where, agents, between)
            lost = [one.ask(ask="status")["ok"]["agent"]["report"]["lost"] for one in agents]
        code = server.end()
    finally:
        server.process.kill()
    ledger, stored = between.ledger, server.stored()
    twice = [key for key, bodies in stored.items() if len(bodies) > 1]
    other = [key for key, line in ledger.sent.items() if stored.get(key) != [json.loads(line)]]

    assert (0, set(), set(), [], [], [0, 0, 0]) == (
        code,
        ledger.acknowledged - set(stored),
        ledger.reused,
        other,
        twice,
        lost,
    )
    assert (True, True, True) == (len(ledger.sent) > 5 * KILLS, ledger.lost > 0, ledger.doubled > 0)
