"""One node of the cluster with all that acts on it: real actor, aggregator, recorded faults."""

import asyncio
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import run as program
from sys import executable
from typing import Any

import msgspec
import structlog

from agent.daemon.acting import Remedying
from agent.daemon.leasing import FleetLeases
from agent.daemon.walker import Walk
from collectors.facts.observation import Cause, Missing, Observation
from collectors.jobs.node_reason import parse
from remediations.act.means import Ended
from remediations.actor.clock import BOOT_ID, boot_id
from remediations.plan.actions import Fleet, SlurmNode
from remediations.plan.standing import Standing
from tests.e2e.aggregators import Served
from tests.lab.slurm.cluster import Cluster
from tests.remediations.actors import APART, Started
from tests.remediations.plan.rehearsal import seen

FREE = Standing(booted_s_ago=86_400.0, jobs=(), holders=(), duties=())
SPEED = 30.0
# In the place of scontrol: the real one, after which it does not end where the test says so.
HALTING = """#!/bin/sh
{folder}/scontrol "$@"
status=$?
[ -e {folder}/halt-$1 ] && touch {folder}/halted && exec sleep 600
exit $status
"""


class Clock:
    """A node's time, thirty times as fast, and further ahead where the test says so."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.speed = SPEED

    def monotonic(self) -> float:
        return time.monotonic() * self.speed + self.ahead

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


class Acted:
    """The node NAME: what it shows is recorded, what is done to it is done by real Slurm."""

    def __init__(
        self, cluster: Cluster, name: str, served: Served | None, folder: Path, *acting: str
    ) -> None:
        self.cluster, self.name, self.served = cluster, name, served
        self.clock = Clock()
        self.fleet: Fleet | None = Fleet(heard_s_ago=1.0) if served else None
        folder.mkdir()
        self.folder = folder
        self.boot_id = boot_id()
        env = {"SLURM_CONF": str(cluster.folder / "slurm.conf"), "SLURMD_NODENAME": name}
        self.actor = Started(folder, *acting, env=env, within=(*APART, *self._own_boot()))
        self.service = self._service()

    def _own_boot(self) -> tuple[str, ...]:
        """Return what gives the actor a boot of its own, and a scontrol that can be halted."""
        real = shutil.which("scontrol", path="/usr/sbin:/usr/bin")
        assert real is not None
        shutil.copy(real, self.folder / "scontrol")
        halting = self.folder / "halting"
        halting.write_text(HALTING.format(folder=self.folder))
        halting.chmod(0o755)
        (self.folder / "boot_id").write_text(f"{self.boot_id}\n")
        over = f"mount --bind {self.folder}/boot_id {BOOT_ID} && mount --bind {halting} {real}"
        return ("sh", "-c", f'{over} && exec "$@"', "sh")

    def _service(self) -> Remedying:
        leases = self._leases(self.served) if self.served else None
        return Remedying(
            self.clock,  # type: ignore[arg-type] # of the node it is only the time that is asked
            self.actor.hand,
            self.folder,
            structlog.get_logger(),
            _nothing,
            leases=leases,
            send=leases.tell if leases else None,
            heard=lambda: self.fleet,
            policy=str(self.actor.policy),
            rehearsal=True,
        )

    def _leases(self, served: Served) -> FleetLeases:
        argv = [executable, "-I", "-m", "aggregator", "token", "create", "--role", "node"]
        argv += ["--node", self.name, "--data", str(served.folder / "data")]
        made = program(argv, capture_output=True, text=True, check=True, timeout=60)
        credential = made.stdout.strip()
        return FleetLeases(served.url, lambda: self.name, lambda: credential, None)

    def slurm(self) -> SlurmNode:
        """Return what the controller says of the node now."""
        said = parse(self.name, self.cluster.client("scontrol", "show", "node", self.name).stdout)
        return SlurmNode(
            name=self.name, states=frozenset(said.states), reason=said.reason, owner=said.by
        )

    def walks(
        self, recording: str, times: int = 3, *, apart_s: float = 60.0, **standing: Any
    ) -> None:
        """Let it have walked so often over what is recorded, so far apart."""
        document, _ = seen(recording)
        document = msgspec.structs.replace(document, node=self.name, boot_id=self.boot_id)
        given = {"slurm": self.slurm()} | standing
        stands = msgspec.structs.replace(FREE, **given)
        for _ in range(times):
            self.clock.ahead += apart_s
            ended = self.clock.monotonic()
            walk = Walk(document=document, ended=ended, ages_s={}, standing=stands)
            self.service.walked(walk)

    def round(
        self,
        recording: str | None = None,
        dies: Callable[[], bool] = lambda: False,
        apart_s: float = 60.0,
    ) -> Ended | None:
        """Have the service decide and act once; while it acts, the node is walked over.

        Where the agent *dies*, the round ends as it stands.
        """

        async def walking() -> None:
            while True:
                await asyncio.sleep(0.2)
                await asyncio.to_thread(self.walks, recording or "h100-idle", 1, apart_s=apart_s)

        async def whole() -> Ended | None:
            async with asyncio.TaskGroup() as group:
                walks = group.create_task(walking())
                acts = group.create_task(self.service.round())
                while not acts.done() and not dies():
                    await asyncio.wait([acts], timeout=0.05)
                walks.cancel()
                if not acts.done():
                    acts.cancel()
                    return None
                return acts.result()

        return asyncio.run(whole())

    def reboots(self) -> None:
        """Boot the machine that went down: agent, actor and slurmd start, in another boot."""
        self.service.close()
        self.actor.kill()
        self.boot_id = str(uuid.uuid4())
        (self.folder / "boot_id").write_text(f"{self.boot_id}\n")
        self.service = self._service()
        self.actor.start()
        self.cluster.boot(self.name)

    def actions(self, token: str) -> list[tuple[str, str]]:
        """Return what the aggregator keeps of the node, the oldest first."""
        assert self.served is not None
        items = self.served.get(f"/v1/actions?node={self.name}", token)["items"]
        return [(one["what"], one["remedy"]) for one in reversed(items)]

    def close(self) -> None:
        self.service.close()
        with suppress(OSError):
            self.actor.kill()


def _nothing(shape: type[Observation]) -> Missing:
    return Missing(
        what=shape.__name__, cause=Cause.NOT_RECORDED, detail="only the faults are shown"
    )


def path_of(acted: Acted) -> list[Path]:
    """Return the archives of evidence that were saved."""
    return sorted((acted.folder / "bundles").glob("*.tar.gz"))
