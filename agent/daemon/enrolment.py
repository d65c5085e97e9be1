"""How a node comes by its credential: for a join token, once; and by rotation from then on."""

import asyncio
import contextlib
import datetime as dt
import hashlib
import os
import secrets
import ssl
from pathlib import Path

import msgspec

from agent.daemon.log import Log
from agent.exchange import Exchange, Unanswered, Waits
from agent.outbox.worker import Worker
from agent.settings import join
from agent.settings.load import Report

RETRY_S = 60.0
LOOK_S = 3600.0
WAITS = Waits(total_s=30.0)
CREATED, ACCEPTED = 201, 202
ANSWER_CAP = 64 << 10
BOARD = Path("/sys/class/dmi/id/product_uuid")
IMAGE = Path("/etc/machine-id")


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept on disk; `nonce` tells the aggregator that a second try is the first one's."""

    nonce: str
    node: str | None = None
    credential: str | None = None
    rotate_after: dt.datetime | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What of the aggregator's answer matters here."""

    credential: str
    rotate_after: dt.datetime


class Enrolment:
    """Keeps the node's credential; made before the loop runs, because it reads files."""

    def __init__(
        self, settings: Report, folder: Path, log: Log, tls: ssl.SSLContext | None
    ) -> None:
        self._aggregator = f"{settings.aggregator}".rstrip("/")
        self._url = f"{self._aggregator}/v1/enroll"
        self._join = Path(settings.join_token)
        self._path = folder / "credential.json"
        self._log = log
        self._tls = tls
        self._worker = Worker("credential")
        self._held = _read(self._path)
        self._named = asyncio.Event()
        self._node: str | None = None
        self.machine = machine()
        self.problem: str | None = None
        self.enrolled = asyncio.Event()
        if self._held.credential:
            self.enrolled.set()

    @property
    def credential(self) -> str:
        """Return the credential, "" before there is one."""
        return self._held.credential or ""

    def name(self, node: str) -> None:
        """Say what this node is called."""
        self._node = node
        self._named.set()

    async def run(self) -> None:
        """Enrol, and rotate the credential when it is time, for ever."""
        await self._named.wait()
        while True:
            pause = LOOK_S
            if self._held.credential is None or self._held.node != self._node:
                pause = LOOK_S if await self._enrol() else RETRY_S
            elif self._held.rotate_after and _now() > self._held.rotate_after:
                rotated = await self._post("/rotate", self._held.credential, {})
                pause = LOOK_S if rotated else RETRY_S
            await asyncio.sleep(pause * secrets.SystemRandom().uniform(0.5, 1.0))

    async def renew(self) -> bool:
        """Ask by the join token again where the credential is not known; return whether it helped.

        So an aggregator that lost its database is told of all nodes again. Where the name is taken
        a person has to approve it, as for any machine that asks.
        """
        return self._node is not None and await self._enrol()

    async def _enrol(self) -> bool:
        try:
            token = join.parse(await self._worker.ask(self._join.read_text)).token
        except OSError as problem:
            self._tell(f"not enrolled: {self._join}: {problem.strerror}")
            return False
        if self._held.node is None:
            # Kept before the first try: an answer that is lost must not cost a second use.
            await self._keep(msgspec.structs.replace(self._held, node=self._node))
        body = {"node": self._node, "machine": self.machine, "nonce": self._held.nonce}
        return await self._post("", token, body)

    async def _post(self, path: str, token: str, body: dict[str, str | None]) -> bool:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            with contextlib.closing(Exchange(self._aggregator, self._tls)) as aggregator:
                answer = await aggregator.ask(
                    "POST",
                    f"/v1/enroll{path}",
                    msgspec.json.encode(body),
                    headers,
                    cap=ANSWER_CAP,
                    waits=WAITS,
                )
            return await self._answered(answer.status, answer.body)
        except (Unanswered, ValueError) as problem:
            self._tell(f"not enrolled: {self._url}: {problem!s:.200}")
            return False

    async def _answered(self, status: int, text: bytes) -> bool:
        if status == CREATED:
            given = msgspec.json.decode(text, type=Given)
            await self._keep(
                Held(
                    nonce=self._held.nonce,
                    node=self._node,
                    credential=given.credential,
                    rotate_after=given.rotate_after,
                )
            )
            self._tell(None)
            self.enrolled.set()
            return True
        if status == ACCEPTED:
            self._tell("waits to be approved: gpudiag fleet enroll on the aggregator's side")
        else:
            self._tell(f"not enrolled: {self._url} answers {status}; is the join token right?")
        return False

    async def _keep(self, held: Held) -> None:
        self._held = held
        try:
            await self._worker.ask(lambda: _write(self._path, msgspec.json.encode(held)))
        except OSError as problem:
            self._log.error("credential_not_kept", problem=f"{self._path}: {problem.strerror}")

    def _tell(self, problem: str | None) -> None:
        if problem != self.problem:
            self._log.warning("enrolment", said=problem or "enrolled")
        self.problem = problem

    def close(self) -> None:
        """Let go of the thread."""
        self._worker.end()


def machine() -> str:
    """Return this machine's own id: its board's where we may read it, else its image's.

    Hashed: the image's id is not to leave a node as it stands, machine-id(5).
    """
    for path in (BOARD, IMAGE):
        with contextlib.suppress(OSError):
            if text := path.read_text("ascii", "replace").strip():
                return hashlib.sha256(f"gpudiag {text.lower()}".encode()).hexdigest()[:32]
    return "unknown"


def _now() -> dt.datetime:
    return dt.datetime.now(tz=dt.UTC)


def _read(path: Path) -> Held:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Held)
    except (OSError, msgspec.DecodeError):
        return Held(nonce=secrets.token_urlsafe(24))


def _write(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
