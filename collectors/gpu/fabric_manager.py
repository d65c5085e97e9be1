"""The version of the fabric manager on disk, which must be equal to the driver's."""

import re

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import bus
from collectors.node.protocol import Node

TOOL = "nv-fabricmanager"
DEADLINE_S = 4.0

# Fabric Manager version is : 580.95.05
VERSION = re.compile(r"\b(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\b")


class FabricManager(Observation, frozen=True, kw_only=True):
    """`version` of the program; None where it is not installed, as where no NVSwitch needs it."""

    version: str | None = None


async def collect(node: Node, wanted: Wanted) -> FabricManager | Missing:
    """Ask the program for its version where a GPU is on the bus; that starts no manager."""
    seen = await bus.collect(node, wanted)
    if isinstance(seen, Missing):
        return seen
    if not seen.gpus:
        return FabricManager()
    got = await node.command(TOOL, "--version", deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return FabricManager() if got.cause is Cause.NO_TOOL else got
    if (told := version(got.stdout)) is None:
        return Missing(what=TOOL, cause=Cause.GARBLED, detail=f"{TOOL} --version tells no version")
    return FabricManager(version=told)


def version(text: str) -> str | None:
    """Return the version in what `nv-fabricmanager --version` prints."""
    hit = VERSION.search(text)
    return hit[1] if hit else None
