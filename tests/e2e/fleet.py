"""Three real agents over recordings, and a real aggregator that can be killed and started anew."""

import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen
from sys import executable
from typing import Any

from aggregator.store.bodies import text
from tests.aggregator.test_crash import free_port
from tests.e2e.agents import Agent, agent, until
from tests.e2e.aggregators import Served, reporting
from tests.e2e.proxy import Key

ROOT = Path(__file__).parents[2]
# A walk every quarter of a second, another state of the node every 1.5 s, a snapshot every 7.5 s.
SPEED = "40"
# States of one machine each: another driver between two walks would be an upgrade.
FLEET = {
    "gpu-031": "h100-idle,h100-gpu-lost",
    "gpu-032": "h100-oom,ib-port-down",
    "gpu-033": "thermal-throttle,h100-gpu-lost-unlogged",
}


class Server:
    """The aggregator as a process that can be killed and started anew."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.data = folder / "data"
        self.where = Served(folder, f"http://127.0.0.1:{self.port}")
        self.process = self._start()

    def _start(self) -> Popen[bytes]:
        argv = [executable, "-I", "-m", "aggregator", "serve", "--data", str(self.data)]
        return Popen([*argv, "--listen", f"127.0.0.1:{self.port}"], stderr=DEVNULL)

    def ready(self) -> bool:
        """Return whether it takes reports."""
        try:
            return self.where.send("GET", "/readyz", "")[0] == 200
        except OSError:
            return False

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    def again(self) -> None:
        self.process = self._start()

    def close(self) -> None:
        """End it, whatever state it is in."""
        self.process.kill()
        self.process.wait(20)

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
def nodes(where: Served) -> Iterator[list[Agent]]:
    """Run agents that report there; each has enrolled and was heard."""
    with ExitStack() as stack:
        running = []
        for name, recordings in FLEET.items():
            own = where.folder / name
            own.mkdir()
            paths = ",".join(str(ROOT / "tests" / "nodes" / each) for each in recordings.split(","))
            program = (str(ROOT / "tests" / "e2e" / "replaying.py"), name, SPEED, str(own), paths)
            running.append(stack.enter_context(agent(own, reporting(where, own), program)))
        for one in running:
            one.told("WATCHDOG=1")
            until(partial(heard, one), "a report is acknowledged")
        yield running


def heard(one: Agent) -> bool:
    """Return whether a report of this run was acknowledged."""
    return one.ask(ask="status")["ok"]["agent"]["report"]["acknowledged_s"] is not None


def walked(one: Agent) -> bool:
    """Return whether the agent has walked since it was started last."""
    try:
        return one.ask(ask="status")["ok"]["diagnosis"] is not None
    except (OSError, ValueError):
        return False


def agreed(one: Agent, where: Served, viewer: str) -> bool:
    """Return whether the aggregator knows what the agent last saw, and nothing that is over.

    A finding whose check saw nothing in the last walk is not over.
    """
    seen = one.ask(ask="status")["ok"]
    status, text_of_node = where.send("GET", f"/v1/nodes/{seen['node']}", viewer)
    if status != 200:
        return False
    now, known = seen["diagnosis"]["findings"], json.loads(text_of_node)["findings"]
    lines = [line for stage in seen["diagnosis"]["stages"] for line in stage["checks"]]
    blind = {line["check"] for line in lines if line["verdict"] == "unknown"}
    more = [finding for finding in known if finding["fault"] not in faults(now)]
    return faults(now) <= faults(known) and {finding["check"] for finding in more} <= blind


def faults(findings: list[dict[str, Any]]) -> set[str]:
    """Return the names of the faults."""
    return {finding["fault"] for finding in findings}
