"""This node in Kubernetes as the daemon knows it: looked at twice a minute, told of in events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.daemon.cluster import OfNode
from agent.settings.load import Kubernetes, parse
from remediations.act.hand import Done
from remediations.plan.actions import KubeNode
from remediations.plan.decide import decide
from tests.remediations.act.kube_api import NODE, TOKEN, Kube, failure, served
from tests.remediations.plan.sick import drained, sick

REASON = "gpudiag: gsp_timeout gpu 0000:4e:00.0 incident 0f3a5c7e9b1d2460"


class World:
    def __init__(self, kube: Kube, url: str, folder: Path) -> None:
        self.kube = kube
        self.token = folder / "token"
        self.token.write_text(f"{TOKEN}\n")
        settings = Kubernetes(api=url, node=NODE, token=str(self.token))
        self.cluster = OfNode(settings, _apart)

    def asked(self) -> int:
        return self.kube.asked.count("GET gpu")


async def _apart(call: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(call)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    kube = Kube()
    async with served(kube) as url:
        yield World(kube, url, tmp_path)


async def test_looked_at_twice_a_minute(world: World) -> None:
    """However often it is asked; what was done by us is seen at once."""
    first = [await world.cluster.look() for _ in range(3)]
    asked = world.asked()
    answer = await world.cluster.ask("kubernetes_cordon", {"reason": REASON})
    now = await world.cluster.look()
    out = KubeNode(name=NODE, unschedulable=True, ours=True, reason=REASON)
    assert ([KubeNode(name=NODE)] * 3, 1, Done("as wanted"), out) == (first, asked, answer, now)


async def test_a_server_that_says_no(world: World) -> None:
    """How the node stands is not known then, and the sentence says why."""
    world.kube.next["GET gpu"] = [failure(403, "nodes is forbidden")]
    told = await world.cluster.look()
    assert (None, True) == (told, "nodes is forbidden" in (world.cluster.problem or ""))


@pytest.mark.parametrize("text", ["", "two words", "a\x00b", None])
async def test_a_token_that_is_none(world: World, text: str | None) -> None:
    """Whatever lies there is not sent."""
    world.token.unlink()
    if text is not None:
        world.token.write_text(text)
    assert (None, []) == (await world.cluster.look(), world.kube.asked)


async def test_decisions_are_told_once(world: World) -> None:
    """As events of the node, that nobody has to turn on; the node itself is left as it is."""
    decisions = decide(sick(actor=False))
    await world.cluster.tell(decisions)
    await world.cluster.tell(decisions)
    event = next(iter(world.kube.events.values()))
    said = (event["reason"], event["message"].partition(":")[0], len(world.kube.events))
    words = "slurm.drain for gpu_fell_off_bus on gpu 0000"
    assert (("GpuFellOffBus", words, 1), 100) == (said, world.kube.version)


async def test_an_event_that_is_not_taken(world: World) -> None:
    """It is told again with the next walk."""
    decisions = decide(drained(actor=False))[:1]
    world.kube.next["POST events"] = [failure(500, "no")]
    await world.cluster.tell(decisions)
    before = len(world.kube.events)
    await world.cluster.tell(decisions)
    assert (0, 1) == (before, len(world.kube.events))


def test_the_settings_turn_it_on() -> None:
    """Without `api` nobody is asked."""
    off = parse("", "a.toml").kubernetes.api
    on = parse('[kubernetes]\napi = "https://10.96.0.1"\nnode = "gpu-017"\n', "a.toml").kubernetes
    assert (None, "https://10.96.0.1", "gpu-017") == (off, on.api, on.node)
