"""Kubernetes by the whole way: a real actor keeps the journal, the API server is our own."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from remediations.act.api_server import ApiServer
from remediations.act.execute import execute
from remediations.act.hand import ActorHand, Done, Hand, Objection
from remediations.act.kubernetes import KubernetesHand
from remediations.act.means import Ended
from remediations.act.recover import recover
from remediations.plan.actions import Action, KubeNode
from remediations.plan.catalog import REMEDIES
from remediations.plan.decide import proposed
from tests.remediations.act.agent import BOOT, means
from tests.remediations.act.kube_api import NODE, TOKEN, Kube, served
from tests.remediations.actors import Started
from tests.remediations.plan.sick import sick

pytestmark = pytest.mark.root
Start = Callable[..., Started]
REMEDY = REMEDIES["kubernetes.cordon"]


def action() -> Action:
    given = sick(slurm=None, kubernetes=KubeNode(name=NODE), boot_id=BOOT)
    return next(one for row, one in proposed(given) if row is REMEDY)


class Killed:
    """A hand whose agent is killed at the verb, before or after it was done."""

    def __init__(self, hand: Hand | None) -> None:
        self._hand = hand
        self.there = asyncio.Event()

    async def ask(self, verb: str, args: Any, *, deadline_s: float = 10.0) -> Done | Objection:
        if self._hand is not None:
            await self._hand.ask(verb, args, deadline_s=deadline_s)
        self.there.set()
        await asyncio.sleep(600)
        raise AssertionError


class World:
    def __init__(self, kube: Kube, url: str, socket: Path, folder: Path) -> None:
        self.kube = kube
        self.hand = KubernetesHand(ApiServer(url, self._token, None), NODE)
        self._socket = str(socket)
        self._folder = folder

    async def _token(self) -> str:
        return TOKEN

    async def acts(self, hand: Hand | None = None) -> Ended:
        given = means(self._socket, self._folder, hands={"kubernetes": hand or self.hand})
        return await execute(action(), REMEDY, BOOT, given)

    async def killed(self, *, done: bool) -> None:
        hand = Killed(self.hand if done else None)
        agent = asyncio.create_task(self.acts(hand))
        await hand.there.wait()
        agent.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await agent

    async def recovers(self) -> list[Ended]:
        given = means(self._socket, self._folder, hands={"kubernetes": self.hand})
        # The session of the one that was killed may not have ended yet.
        while (ended := await recover(REMEDIES, given)) is None:  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.05)
        return ended

    @property
    def changed(self) -> int:
        return self.kube.asked.count("PATCH gpu")


@pytest.fixture
async def world(
    request: pytest.FixtureRequest, start_actor: Start, tmp_path: Path
) -> AsyncIterator[World]:
    """Start an actor with cordon in act, or with what a test asks for."""
    acting = getattr(request, "param", ("kubernetes.cordon",))
    actor = await asyncio.to_thread(start_actor, *acting)
    kube = Kube()
    async with served(kube) as url:
        yield World(kube, url, actor.socket, tmp_path)


def journal(folder: Path) -> list[str]:
    lines = (folder / "actor" / "journal.jsonl").read_text().splitlines()
    return [f"{one['kind']} {one.get('verb', '')}".strip() for one in map(json.loads, lines)]


async def test_cordoned(world: World, tmp_path: Path) -> None:
    """Meant, done and verified; what was meant stood in root's journal before it was done."""
    ended = await world.acts()
    told = await asyncio.to_thread(journal, tmp_path)
    expected = ["begin", "intent kubernetes_cordon", "outcome", "end"]
    assert ("done", expected, True) == (ended.outcome, told, world.kube.spec["unschedulable"])


@pytest.mark.parametrize("world", [("slurm.drain",)], indirect=True)
async def test_not_where_root_did_not_turn_it_on(world: World) -> None:
    """The agent has the right at the API server, and asks the actor all the same."""
    ended = await world.acts()
    assert ("untouched", 0) == (ended.outcome, world.changed)


async def test_not_without_an_actor(world: World, tmp_path: Path) -> None:
    """Nobody keeps a journal then: nothing is done."""
    given = means(str(tmp_path / "none.sock"), tmp_path, hands={"kubernetes": world.hand})
    ended = await execute(action(), REMEDY, BOOT, given)
    assert ("untouched", 0) == (ended.outcome, world.changed)
    assert isinstance(await ActorHand(str(tmp_path / "none.sock")).ask("state", {}), Objection)


async def test_killed_after_it_was_done(world: World) -> None:
    """The next start asks the node, finds it out, and does not do it a second time."""
    await world.killed(done=True)
    ended = await world.recovers()
    assert (["done"], 1, True) == (
        [one.outcome for one in ended],
        world.changed,
        world.kube.spec["unschedulable"],
    )


async def test_killed_before_it_was_done(world: World) -> None:
    """The next start asks the node, finds it in use, and leaves it to the next walk."""
    await world.killed(done=False)
    ended = await world.recovers()
    assert (["untouched"], 0) == ([one.outcome for one in ended], world.changed)
