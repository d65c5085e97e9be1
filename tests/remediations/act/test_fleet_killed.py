"""The aggregator is killed in every state of an action: it ends, and the fleet hears of it."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, run
from typing import Any

import pytest

from agent.daemon.leasing import FleetLeases
from remediations.act.audit import Trail
from remediations.act.execute import execute
from remediations.act.hand import ActorHand
from remediations.act.means import Ended, Means
from remediations.plan.actions import Action
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import said
from tests.e2e.aggregators import Served
from tests.remediations.act.agent import ACTION, BOOT, DRAIN
from tests.remediations.actors import Started

pytestmark = pytest.mark.root
Start = Callable[..., Started]
NODE = "gpu-001"


class Fleet:
    """A real aggregator that is killed with KILL and started again on its folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.port = free_port()
        self.served = Served(folder, f"http://127.0.0.1:{self.port}")
        self.process: Popen[bytes] | None = None

    def start(self) -> None:
        folder = self.served.folder
        argv = [sys.executable, "-I", "-m", "aggregator", "serve", "--data", str(folder / "data")]
        argv += ["--listen", f"127.0.0.1:{self.port}"]
        self.process = Popen(argv, stderr=PIPE, stdout=DEVNULL)
        assert "listening" == said(self.process)["event"]

    def kill(self) -> None:
        if self.process is not None:
            assert self.process.stderr is not None
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process.stderr.close()
            self.process = None

    def credential(self) -> str:
        argv = [sys.executable, "-I", "-m", "aggregator", "token", "create", "--role", "node"]
        argv += ["--node", NODE, "--data", str(self.served.folder / "data")]
        return run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    def told(self) -> list[str]:
        """Return what the aggregator keeps, the oldest first."""
        found = self.served.get("/v1/actions", self.served.token("viewer"))["items"]
        return [one["what"] for one in reversed(found)]

    def held(self) -> list[str]:
        found = self.served.get("/v1/leases", self.served.token("viewer"))["items"]
        return [one["node"] for one in found]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path / "fleet")
    made.start()
    yield made
    made.kill()


class Agent:
    """Executes with the fleet's leases, and has the aggregator killed where it is told to."""

    def __init__(self, actor: Started, fleet: Fleet, where: str) -> None:
        credential = fleet.credential()
        leases = FleetLeases(fleet.served.url, lambda: NODE, lambda: credential, None)
        self.leases = leases
        self.trail = Trail(actor.folder, lambda: NODE, asyncio.to_thread, leases.tell)
        self._fleet, self._where = fleet, where
        self._means = Means(
            actor=ActorHand(str(actor.socket)),
            leases=leases,
            audit=self,
            save=self.save,
            check=self.check,
            sleep=asyncio.sleep,
            now=asyncio.get_running_loop().time,
        )

    async def _at(self, where: str) -> None:
        if where == self._where:
            await asyncio.to_thread(self._fleet.kill)

    async def save(self, action: Action) -> str | None:
        del action
        await self._at("saving")
        return None

    async def tell(self, action: Action, what: str, reason: str, lease: str | None) -> None:
        await self._at(what)
        await self.trail.tell(action, what, reason, lease)

    async def check(self, names: Sequence[str]) -> str | None:
        del names
        await self._at("checking")
        return None

    async def execute(self) -> Ended:
        return await execute(ACTION, DRAIN, BOOT, self._means)


def acted(actor: Started, fleet: Fleet, where: str) -> tuple[str, list[str], list[str], list[str]]:
    """Return how it ended, what was done, and what the fleet knows once it is back and was told."""

    async def whole() -> str:
        agent = Agent(actor, fleet, where)
        ended = await agent.execute()
        with contextlib.suppress(OSError):
            await asyncio.to_thread(fleet.kill)
        await asyncio.to_thread(fleet.start)
        await agent.trail.flush()
        return ended.outcome

    outcome: Any = asyncio.run(whole())
    return outcome, actor.done(), fleet.told(), fleet.held()


@pytest.mark.parametrize(
    ("where", "ended", "done", "told", "held"),
    [
        ("nowhere", "done", ["put a", "put b"], ["granted", "begun", "done"], [NODE]),
        ("saving", "untouched", [], ["untouched"], []),
        ("begun", "done", ["put a", "put b"], ["granted", "begun", "done"], [NODE]),
        ("checking", "done", ["put a", "put b"], ["granted", "begun", "done"], [NODE]),
        ("done", "done", ["put a", "put b"], ["granted", "begun", "done"], [NODE]),
    ],
)
def test_aggregator_killed(
    start_actor: Start,
    fleet: Fleet,
    *,
    where: str,
    ended: str,
    done: list[str],
    told: list[str],
    held: list[str],
) -> None:
    """Killed before it gave leave: nothing is done. After: the action ends, and is told later."""
    actor = start_actor("slurm.drain")
    assert (ended, done, told, held) == acted(actor, fleet, where)


def test_answer_that_was_lost(start_actor: Start, fleet: Fleet) -> None:
    """A lease whose answer never came is the node's own: it asks again and goes on under it."""
    actor = start_actor("slurm.drain")

    async def asked() -> list[bool]:
        agent = Agent(actor, fleet, "nowhere")
        first = await agent.leases.ask(ACTION, DRAIN)
        await asyncio.to_thread(fleet.kill)
        await asyncio.to_thread(fleet.start)
        again = await agent.leases.ask(ACTION, DRAIN)
        return [bool(getattr(one, "held", None)) for one in (first, again)]

    assert ([False, True], [NODE]) == (asyncio.run(asked()), fleet.held())
