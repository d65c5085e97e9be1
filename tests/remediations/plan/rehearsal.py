"""Recorded nodes with every remedy in `act` and nothing in its way but what is known of them."""

import asyncio
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from agent.cli.run import open_node
from agent.settings.load import Settings
from agent.walk.report import build, stands
from agent.walk.walk import Selection, walk
from collectors.node.protocol import Node
from diagnostics.document import Document
from remediations.plan.actions import Decision, Fleet, KubeNode, Situation, SlurmNode
from remediations.plan.catalog import REMEDIES
from remediations.plan.decide import decide
from remediations.plan.situation import Acting, situation
from remediations.plan.standing import Standing
from remediations.policy import Policy
from tests.nodes.replay import NODES

NOW = 1_800_000_000.0
EVERYTHING = Policy(
    mode=dict.fromkeys(REMEDIES, "act"), allow_unproved=frozenset(REMEDIES), path="acting.toml"
)
OURS = "gpudiag: gpu_lost gpu 0000:5d:00.0 incident 0f3a5c7e9b1d2460"
IN_USE = SlurmNode(name="gpu-017", states=frozenset({"IDLE"}))
DRAINED = SlurmNode(name="gpu-017", states=frozenset({"IDLE", "DRAIN"}), reason=OURS, owner="slurm")


@functools.cache
def seen(name: str) -> tuple[Document, Standing]:
    """Return the diagnosis of a recorded node, and how it stands."""
    return seen_at(NODES / name)


def seen_at(folder: Path) -> tuple[Document, Standing]:
    """Return those of the recording in *folder*."""
    node, settings, logs = open_node(str(folder), None, Settings(), ())
    return asyncio.run(_seen(node, settings, logs))


async def _seen(node: Node, settings: Settings, logs: tuple[str, ...]) -> tuple[Document, Standing]:
    try:
        walked = await walk(node, settings.wanted(logs), Selection(), settings.limits)
        document = build(
            walked, await node.identity(), started=node.now(), seconds=1.0, strict=False
        )
    finally:
        await node.close()
    return document, stands(walked)


def rehearsed(name: str, **changed: Any) -> Situation:
    """Return the situation in which only what is known of the node can object."""
    return _free(*seen(name), **changed)


def rehearsed_at(folder: Path) -> Situation:
    """Return that of the recording in *folder*."""
    return _free(*seen_at(folder))


def _free(document: Document, standing: Standing, **changed: Any) -> Situation:
    names = [incident.fingerprint for incident in document.incidents]
    acting = Acting(
        policy=EVERYTHING,
        actor=True,
        fleet=Fleet(heard_s_ago=1.0),
        seen_s=dict.fromkeys(names, 600.0),
        walks=dict.fromkeys(names, 20),
        clear_s=3600.0,
        rehearsal=True,
    )
    whole = situation(document, standing, acting, now=NOW)
    return msgspec.structs.replace(whole, **changed)


def idle(name: str, **changed: Any) -> Situation:
    """Return it with nothing of a job there, booted long ago, and no other duty."""
    free: dict[str, Any] = {"jobs": (), "holders": (), "duties": (), "booted_s_ago": 86_400.0}
    return rehearsed(name, **(free | changed))


def variants(name: str) -> list[Situation]:
    """Return the node as it was recorded, and idle in Slurm, in Kubernetes, and drained by us."""
    free = KubeNode(name="gpu-017")
    return [
        rehearsed(name),
        idle(name, slurm=IN_USE),
        idle(name, slurm=None, kubernetes=free),
        idle(name, slurm=DRAINED, kubernetes=KubeNode(name="n", unschedulable=True, ours=True)),
    ]


def acts(decisions: Iterable[Decision]) -> list[str]:
    """Return the remedies that would do something."""
    return [one.action.remedy for one in decisions if one.verdict == "acts"]


def decided(given: Situation) -> list[str]:
    return acts(decide(given))
