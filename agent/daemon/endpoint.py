"""The local socket: one JSON line asks, one JSON line answers; who asks is known by its uid."""

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any

import msgspec

from agent.cli.errors import Mistake
from agent.daemon import answers
from agent.daemon.answers import Daemon, Refused
from agent.daemon.peer import Peer, peer
from diagnostics.document import plain

REQUEST_CAP = 4096
MOST_PEERS = 64
PATIENCE_S = 10.0


def bind(path: Path) -> socket.socket:
    """Return the listening socket; one that a killed agent left is replaced.

    Raises Mistake where another agent answers, or where the folder is not ours to write.
    """
    if _answered(path):
        raise Mistake(
            f"another agent answers at {path} already",
            "systemctl status gpudiag-agent shows it; --socket names another place",
        )
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        path.unlink(missing_ok=True)
        bound.bind(str(path))
        # Anyone may knock: what is shown is decided by the peer's credentials.
        path.chmod(0o666)
    except OSError as problem:
        bound.close()
        raise Mistake(
            f"cannot listen at {path}: {problem.strerror or problem}",
            "start it as root or gpudiag, or name another place with --socket",
        ) from None
    bound.listen(MOST_PEERS)
    return bound


def _answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


class Endpoint:
    """Serves the socket."""

    def __init__(self, daemon: Daemon, bound: socket.socket, group: int | None) -> None:
        self._daemon = daemon
        self._bound = bound
        self._group = group
        self._peers = 0

    async def run(self) -> None:
        """Serve for ever; the listening socket stays ours, so that a restart goes on with it."""
        server = await asyncio.start_unix_server(
            self._serve, sock=self._bound.dup(), limit=REQUEST_CAP
        )
        try:
            # Not serve_forever(): its end waits for every caller that has not hung up.
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._peers += 1
        try:
            if self._peers <= MOST_PEERS:
                async with asyncio.timeout(PATIENCE_S):
                    caller = peer(writer.get_extra_info("socket"), self._group)
                    writer.write(await self._reply(caller, await reader.readline()))
                    await writer.drain()
        except (OSError, TimeoutError, ValueError):
            # The caller left, said nothing, or said more than a question: it is owed no answer.
            pass
        finally:
            self._peers -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _reply(self, caller: Peer, line: bytes) -> bytes:
        try:
            question: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
            reply = {"ok": plain(await answers.answer(self._daemon, caller, question))}
        except msgspec.DecodeError:
            reply = {"refused": "a question is one JSON object on one line"}
        except Refused as no:
            reply = {"refused": str(no)}
        return msgspec.json.encode(reply) + b"\n"
