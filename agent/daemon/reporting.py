"""From finished walks to the aggregator: what changed at once, a heartbeat, now and then all."""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent import BUILD
from agent.cli.errors import Mistake
from agent.daemon.enrolment import Enrolment
from agent.daemon.inventory import Inventory
from agent.daemon.leasing import FleetLeases
from agent.daemon.log import Log
from agent.daemon.walker import Walk
from agent.outbox import reports
from agent.outbox.folder import Disk
from agent.outbox.sender import Answer, Sender
from agent.outbox.spool import Spool
from agent.outbox.store import Limits
from agent.settings.load import Report
from aggregator.wire import Asks, Receipt
from collectors.node.protocol import Node
from diagnostics.document import plain
from remediations.plan.actions import Fleet

HEARTBEAT_S = 30.0
SNAPSHOT_S = 300.0
MIB = 1 << 20


class Reporting:
    """Tells one aggregator; what it does not take waits in the spool."""

    def __init__(self, node: Node, settings: Report, folder: Path, log: Log) -> None:
        assert settings.aggregator is not None
        self._node = node
        self._settings = settings
        self._log = log
        limits = Limits(disk=settings.spool_mib * MIB)
        self._spool = Spool(Disk(folder / "spool"), limits=limits, say=self._spooling)
        self._tls = tls = _tls(settings)
        self.enrolment = Enrolment(settings, folder, log, tls)
        self._sender = Sender(
            self._spool,
            url=settings.aggregator,
            credential=lambda: self.enrolment.credential,
            renew=self._renew,
            tls=tls,
            on_answer=self._answered,
            say=self._say,
        )
        self._about: reports.About | None = None
        self._known: Mapping[str, reports.Known] = {}
        self._verdict = "unknown"
        self._walk: Walk | None = None
        self._whole_at: float | None = None
        self._problem: str | None = None
        self._asks: Callable[[], Asks] = Asks
        self._told: Callable[[Receipt], None] = lambda _: None
        self.paused = False

    def ask_of(self, asks: Callable[[], Asks], told: Callable[[Receipt], None]) -> None:
        """Ask with each heartbeat what *asks* says, and give the answers to *told*."""
        self._asks, self._told = asks, told

    async def _renew(self) -> bool:
        """Get another credential; who did not know the old one may know nothing of the node."""
        renewed = await self.enrolment.renew()
        if renewed:
            self._whole_at = None
        return renewed

    def _spooling(self, line: str) -> None:
        self._log.warning("spool", said=line)

    def _say(self, line: str) -> None:
        self._problem = None if line.endswith("accepted again") else line
        self._log.warning("delivery", said=line)

    def _answered(self, answer: Answer) -> None:
        """Take what an answer says beside the reports; one without a receipt says nothing."""
        if answer.paused is not None:
            self._pause(paused=answer.paused)
        if answer.receipt is not None:
            self._told(answer.receipt)

    def _pause(self, *, paused: bool) -> None:
        if paused != self.paused:
            self._log.warning("acting_paused" if paused else "acting_allowed")
        self.paused = paused

    async def start(self) -> None:
        """Open the spool; a disk that does not answer is left to answer later."""
        await self._spool.start()

    def services(self) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        """Return what is to be kept running."""
        return [
            ("enrolment", self.enrolment.run),
            ("sender", self._send),
            ("heartbeat", self._beat),
        ]

    async def _send(self) -> None:
        await self.enrolment.enrolled.wait()
        await self._sender.run()

    async def _beat(self) -> None:
        while True:
            if self._about is not None:
                now = self._node.now()
                self._spool.put(
                    reports.heartbeat(
                        self._about, self._verdict, now, self._stages(), self._allowed()
                    )
                )
            await self._node.sleep(HEARTBEAT_S)

    def _allowed(self) -> Asks:
        """Return what is asked; where nothing of jobs may leave the node, nothing of them."""
        asks = self._asks()
        if self._settings.job_text != "none":
            return asks
        return msgspec.structs.replace(asks, jobs=())

    def _stages(self) -> dict[str, float]:
        """Return how long ago each stage was looked at: a walk that does not end is seen by it."""
        if self._walk is None:
            return {}
        since = max(self._node.monotonic() - self._walk.ended, 0.0)
        return {name: round(age + since, 1) for name, age in self._walk.stages_s.items()}

    def walked(self, walk: Walk, inventory: Callable[[], Inventory] = Inventory) -> None:
        """Put what changed into the spool, and the whole, with *inventory*, where it is time."""
        self._walk = walk
        document = walk.document
        node, boot = document.node or "unknown", document.boot_id or "unknown"
        diagnosis = plain(document)
        self._about = reports.About(
            node=node,
            boot_id=boot,
            product=BUILD,
            simulated=document.simulated,
            machine=self.enrolment.machine,
        )
        self._verdict = document.verdict
        self.enrolment.name(node)
        now, job_text = self._node.now(), self._settings.job_text
        changes = reports.compare(self._known, diagnosis, node)
        self._known = changes.known
        if change := reports.change(self._about, diagnosis, changes, now, job_text):
            self._spool.put(change)
        at = self._node.monotonic()
        if self._whole_at is None or at - self._whole_at >= SNAPSHOT_S:
            self._whole_at = at
            found = inventory()
            self._spool.put(
                reports.snapshot(
                    self._about,
                    diagnosis,
                    now,
                    job_text,
                    parts=found.parts,
                    versions=found.versions,
                    gauges=found.gauges,
                )
            )

    def status(self) -> dict[str, Any]:
        """Return how delivery stands, as `gpudiag status` shows it."""
        spool = self._spool.status
        heard = self._sender.last_accepted
        return {
            "url": self._settings.aggregator,
            "acknowledged_s": None if heard is None else self._node.monotonic() - heard,
            "problem": self.enrolment.problem or self._problem or spool.problem,
            "bytes": spool.disk_bytes + spool.memory_bytes,
            "most_bytes": self._settings.spool_mib * MIB,
            "lost": spool.lost,
        }

    def fleet(self) -> FleetLeases:
        """Return who asks the aggregator for leave, with this node's credential."""
        return FleetLeases(
            f"{self._settings.aggregator}",
            lambda: self._about.node if self._about else "unknown",
            lambda: self.enrolment.credential,
            self._tls,
        )

    def heard(self) -> Fleet | None:
        """Return when the aggregator was heard, and whether it stops all acting."""
        last = self._sender.last_accepted
        if last is None:
            return None
        return Fleet(heard_s_ago=max(self._node.monotonic() - last, 0.0), paused=self.paused)

    async def close(self) -> None:
        """Leave the spool as it is to be found."""
        await self._spool.close()
        self.enrolment.close()


def _tls(settings: Report) -> ssl.SSLContext | None:
    """Return how the aggregator is known and this node shows itself; None without TLS."""
    secure = f"{settings.aggregator}".startswith("https:")
    if not secure and not settings.ca and not settings.certificate:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca)
        if settings.certificate:
            context.load_cert_chain(settings.certificate, settings.key)
    except OSError as problem:
        files = (settings.ca, settings.certificate, settings.key)
        raise Mistake(
            f"report: {', '.join(f for f in files if f)}: {problem.strerror or problem}",
            "name PEM files that are there and belong together",
        ) from None
    return context
