"""What a person at the keyboard acts with: the same means as the agent, and walks of his own."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agent.bundle import SHAPES, parts
from agent.cli.owner import as_owner
from agent.cli.planned import Planned, walked
from agent.cli.run import in_turns, open_node
from agent.daemon.cluster import OfNode
from agent.outbox.worker import Worker
from agent.settings.join import joined
from agent.settings.load import Settings
from agent.walk.sources import by_shape
from agent.walk.walk import Gather, Selection
from collectors.node.protocol import Node
from remediations.act.audit import Trail
from remediations.act.evidence import Bundles
from remediations.act.execute import execute
from remediations.act.hand import ActorHand
from remediations.act.means import Ended, Lease, Leases, Means, Refusal
from remediations.plan.actions import Action, Remedy
from remediations.plan.catalog import REMEDIES

FOLDER = "/var/lib/gpudiag"
PASSED = ("ok", "not_applicable")
LOOK_S = 20.0


class Credential(msgspec.Struct, frozen=True):
    """What is read of the agent's own credential."""

    credential: str | None = None


class NoFleet:
    """Stands where no aggregator gives leave; `why` is the sentence."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        """Refuse."""
        del action, remedy
        return Refusal(self._why)

    async def give_back(self, lease: str) -> None:
        """Do nothing."""


class Keyboard:
    """One action of a person, from evidence to verification."""

    def __init__(
        self, told: Planned, agent: str, actor: str, folder: str, person: str | None
    ) -> None:
        self._told = told
        self._agent = agent
        self._person = person
        self._actor = ActorHand(actor)
        self._folder = Path(folder)
        self._worker = Worker("acting")
        self._leases = leases(told, self._folder)

    def do(self, action: Action) -> Ended:
        """Do it, and return how it ended."""
        boot_id = self._told.situation.boot_id or ""
        try:
            return asyncio.run(self._do(action, boot_id))
        finally:
            self._worker.end()

    async def _do(self, action: Action, boot_id: str) -> Ended:
        loop = asyncio.get_running_loop()
        kubernetes = self._told.settings.kubernetes
        means = Means(
            actor=self._actor,
            leases=self._leases,
            audit=Trail(self._folder, self._name, self._kept, None),
            save=self._save,
            check=self._check,
            sleep=asyncio.sleep,
            now=loop.time,
            person=self._person,
            hands={"kubernetes": OfNode(kubernetes, self._worker.ask)} if kubernetes.api else {},
        )
        return await execute(action, REMEDIES[action.remedy], boot_id, means)

    async def _kept(self, call: Callable[[], Any]) -> None:
        """Do what writes into the agent's folder, as the agent would."""
        await self._worker.ask(lambda: as_owner(self._folder, call))

    def _name(self) -> str:
        return self._told.document.node or "unknown"

    async def _save(self, action: Action) -> str | None:
        """Save the incident with what the node says now; a node given back has none."""
        document = self._told.document
        found = next((i for i in document.incidents if i.fingerprint == action.incident), None)
        if found is None:
            return None if action.incident is None else "its incident is over"
        node, settings = await self._worker.ask(self._opened)
        gather = Gather(node, settings.wanted(), by_shape())
        try:
            await gather.look(SHAPES, None, LOOK_S)
        finally:
            await node.close()
        whole = list(parts(document, found, [gather.seen[shape] for shape in SHAPES]))
        name = f"{action.incident}-{action.remedy.replace('.', '-')}"
        try:
            await self._kept(lambda: Bundles(self._folder / "bundles").save(name, whole))
        except OSError as problem:
            return str(problem.strerror or problem)
        return None

    async def _check(self, names: Sequence[str]) -> str | None:
        """Walk again over these checks, and return what speaks against the node."""
        node, settings = await self._worker.ask(self._opened)
        document, _, _ = await walked(node, settings, Selection(checks=names))
        lines = {one.check: one for stage in document.stages for one in stage.checks}
        for name in names:
            if name not in lines:
                return f"{name} was not run"
            if lines[name].verdict not in PASSED:
                return f"{name} is {lines[name].verdict}: {lines[name].message}"
        return None

    def _opened(self) -> tuple[Node, Settings]:
        node, settings, _ = open_node(None, None, self._told.settings, ())
        in_turns(node, self._agent)
        return node, settings


def leases(told: Planned, folder: Path) -> Leases:
    """Return who gives leave: the aggregator that the settings name, by this node's credential."""
    report = joined(told.settings.report)
    if report.aggregator is None:
        return NoFleet("no aggregator is named, and without a lease nothing is taken away")
    try:
        text = (folder / "credential.json").read_bytes()
        credential = msgspec.json.decode(text, type=Credential).credential
    except (OSError, msgspec.DecodeError):
        credential = None
    if credential is None:
        return NoFleet(f"{folder}/credential.json: this node is not enrolled")
    # What speaks HTTP is for those who ask for a lease.
    from agent.daemon.leasing import FleetLeases  # noqa: PLC0415 - see above

    node = told.document.node or "unknown"
    tls = ssl.create_default_context(cafile=report.ca) if report.ca else None
    if tls is not None and report.certificate:
        tls.load_cert_chain(report.certificate, report.key)
    return FleetLeases(report.aggregator, lambda: node, lambda: credential, tls)
