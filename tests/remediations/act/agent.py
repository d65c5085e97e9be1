"""Stands for the agent in a process of its own, which can be killed: executes, or recovers.

    python -m tests.remediations.act.agent SOCKET FOLDER execute|recover|recover-once [SPEED]

It stops for ever where the folder says so (`stop-saving`, `stop-leased`, `stop-begun`,
`stop-checking`, `stop-told`), and says on standard output where it is and how it ended.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from remediations.act.execute import execute
from remediations.act.hand import ActorHand
from remediations.act.means import Lease, Means, Refusal
from remediations.act.recover import recover
from remediations.actor.clock import boot_id
from remediations.plan.actions import Action, Remedy, Step
from remediations.plan.catalog import REMEDIES

BOOT = boot_id()
SPEED = 20.0
DRAIN = REMEDIES["slurm.drain"]


def step(name: str) -> Step:
    """Return a step that is asked and taken back by the verbs of the tests."""
    undo = Step(verb="take", args={"name": name}, says=f"take {name}", done="is_taken")
    return Step(verb="put", args={"name": name}, says=f"put {name}", undo=undo, done="is_put")


ACTION = Action(
    key=f"slurm.drain|gpu-001|gpu_lost|gpu 1|{BOOT}",
    remedy=DRAIN.name,
    fault="gpu_lost",
    subject="gpu 1",
    serial="1650000000001",
    signature="gpu_lost",
    steps=(step("a"), step("b")),
    verify=("gpu.count",),
    risk="none: it is a folder",
)


class Stage:
    """Says where the agent is, and stops there where the folder wants it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def at(self, where: str) -> None:
        sys.stdout.write(f"{where}\n")
        sys.stdout.flush()
        if await asyncio.to_thread((self._folder / f"stop-{where}").exists):
            await asyncio.sleep(600)

    async def says(self, name: str) -> str | None:
        path = self._folder / name
        there = await asyncio.to_thread(path.exists)
        return (await asyncio.to_thread(path.read_text)).strip() if there else None


class World:
    """Everything but the actor: evidence, leases, checks, audit."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def save(self, action: Action) -> str | None:
        del action
        await self._stage.at("saving")
        return await self._stage.says("no-evidence")

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        del action, remedy
        why = await self._stage.says("no-lease")
        await self._stage.at("leased")
        return Lease("lease-1") if why is None else Refusal(why)

    async def give_back(self, lease: str) -> None:
        sys.stdout.write(f"gave back {lease}\n")

    async def renew(self, remedy: str) -> None:
        sys.stdout.write(f"renewed for {remedy}\n")

    async def tell(self, action: Action, what: str, reason: str, lease: str | None) -> None:
        del action, reason, lease
        await self._stage.at("begun" if what == "begun" else "told")

    async def check(self, names: Sequence[str]) -> str | None:
        del names
        await self._stage.at("checking")
        return await self._stage.says("ill")


def means(socket: str, folder: Path, speed: float = SPEED, **other: object) -> Means:
    """Return them; their clock is *speed* times as fast."""
    world = World(Stage(folder))
    given = {
        "actor": ActorHand(socket),
        "leases": world,
        "audit": world,
        "save": world.save,
        "check": world.check,
        "sleep": lambda seconds: asyncio.sleep(seconds / speed),
        "now": lambda: time.monotonic() * speed,
    }
    return Means(**(given | other))  # type: ignore[arg-type] # by name


async def main() -> None:
    socket, folder, what, *faster = sys.argv[1:]
    by = means(socket, Path(folder), *map(float, faster))
    began = by.now()
    if what == "execute":
        ended = await execute(ACTION, DRAIN, BOOT, by)
        sys.stdout.write(f"{ended.outcome}: {ended.reason}\n")
        return
    found = await recover(REMEDIES, by)
    # The session of one who was killed a moment ago may not have ended yet.
    while what == "recover" and found is None and by.now() < began + 100:
        await asyncio.sleep(0.05)
        found = await recover(REMEDIES, by)
    for one in found or []:
        sys.stdout.write(f"{one.outcome}: {one.reason}\n")


if __name__ == "__main__":
    asyncio.run(main())
