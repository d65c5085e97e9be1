"""Three agents and an aggregator are killed at random, over a network that loses and doubles."""

import json
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.agents import Agent, until
from tests.e2e.aggregators import Served
from tests.e2e.fleet import Server, agreed, nodes, walked
from tests.e2e.proxy import Ledger, Proxy, proxy

KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))
pytestmark = [pytest.mark.serial, pytest.mark.timeout(150 + 10 * KILLS)]


def kill(server: Server, agents: list[Agent], ledger: Ledger) -> None:
    """Kill one of them, again and again, and start it anew; between two, something is sent."""
    chance = random.Random(5)  # noqa: S311 - chance of a test
    victims: list[Server | Agent] = [server, *agents, server]
    for turn in range(KILLS):
        time.sleep(chance.uniform(0.5, 2.5))
        # The first two are sure, so that five kills show both sides.
        victim = victims[turn if turn < 2 else chance.randrange(len(victims))]
        victim.end(signal.SIGKILL)
        victim.again()
        until(partial(sent, ledger, 2 * (turn + 1)), "more is sent")
    until(lambda: ledger.lost and ledger.doubled, "answers are lost and reports doubled")


def sent(ledger: Ledger, count: int) -> bool:
    return len(ledger.sent) > count


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


def test_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    """R2, R3: whoever is killed, whatever is lost, doubled or late: each report is there, once.

    What an agent sent before it was killed, its spool has still, under its number; in the end the
    aggregator knows of each node what its agent saw last.
    """
    server = Server(tmp_path)
    try:
        with proxy(server.port, Proxy) as between, nodes(Served(tmp_path, between.url)) as agents:
            between.kind = False
            kill(server, agents, between.ledger)
            settle(server.where, agents, between)
            lost = [one.ask(ask="status")["ok"]["agent"]["report"]["lost"] for one in agents]
        code = server.end()
    finally:
        server.close()
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
