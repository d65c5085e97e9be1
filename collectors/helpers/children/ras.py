"""The verb `ras`: what NCCL's own RAS service says of a job, asked over TCP on this node.

    > CLIENT PROTOCOL 2            < SERVER PROTOCOL 2
    > TIMEOUT 3                    < OK
    > SET FORMAT json              < OK            (ERROR: ... before NCCL 2.28)
    > VERBOSE STATUS               < the report, and the connection is closed

(NCCL, src/ras/client.cc and client_support.cc; the service is there since 2.24.)
"""

import ipaddress
import socket
import time
from typing import Any

from collectors.helpers.children.loop import Refused

PROTOCOL = 2
LINE_CAP = 1024
CAP = 16 << 20
WAIT_S = 3
DEADLINE_S = 5.0


def ras(host: str, port: int) -> dict[str, Any]:
    """Return `format` (json or text) and `text`; *host* must be an address of this node.

    The address comes from a job's environment: it must not make us knock at other doors.
    """
    until = time.monotonic() + DEADLINE_S
    address = _own(host, port)
    try:
        with socket.create_connection(address, timeout=DEADLINE_S) as peer:
            return _asked(Talk(peer, until))
    except TimeoutError:
        raise Refused("timeout", f"{host}:{port} did not answer in {DEADLINE_S:g} s") from None
    except OSError as problem:
        raise Refused("no_tool", f"nothing answers at {host}:{port}: {problem.strerror}") from None


def _own(host: str, port: int) -> tuple[str, int]:
    text = "127.0.0.1" if host == "localhost" else host
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise Refused("denied", f"{host!r:.80} is no address") from None
    if not 0 < port < 1 << 16:
        raise Refused("denied", f"{port} is no port")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET  # noqa: PLR2004 - IPv6
    try:
        # What can be bound to is ours.
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((text, 0))
    except OSError:
        raise Refused("denied", f"{host:.80} is no address of this node") from None
    return text, port


class Talk:
    """One connection with a deadline for all of it."""

    def __init__(self, peer: socket.socket, until: float) -> None:
        self._peer = peer
        self._until = until
        self._rest = b""

    def line(self, said: str) -> str:
        """Say one line and return the one that comes back."""
        self.say(said)
        while b"\n" not in self._rest:
            if len(self._rest) > LINE_CAP or not (block := self._block()):
                raise Refused("garbled", "what answers is no RAS service of NCCL")
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        return line[:LINE_CAP].decode("utf-8", "backslashreplace").strip()

    def say(self, said: str) -> None:
        """Say one line."""
        self._peer.settimeout(self._left())
        self._peer.sendall(said.encode() + b"\n")

    def rest(self) -> str:
        """Return all that comes until the other side hangs up."""
        pieces, size = [self._rest], len(self._rest)
        while block := self._block():
            pieces.append(block)
            size += len(block)
            if size > CAP:
                raise Refused("garbled", f"its report is larger than {CAP >> 20} MiB")
        return b"".join(pieces).decode("utf-8", "backslashreplace")

    def _block(self) -> bytes:
        self._peer.settimeout(self._left())
        return self._peer.recv(1 << 16)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _asked(talk: Talk) -> dict[str, Any]:
    hello = talk.line(f"CLIENT PROTOCOL {PROTOCOL}")
    if not hello.upper().startswith("SERVER PROTOCOL "):
        raise Refused("garbled", f"what answers is no RAS service of NCCL: {hello:.80}")
    if talk.line(f"TIMEOUT {WAIT_S}").upper() != "OK":
        raise Refused("garbled", "the RAS service refused a timeout")
    form = "json" if talk.line("SET FORMAT json").upper() == "OK" else "text"
    talk.say("VERBOSE STATUS")
    if not (text := talk.rest()).strip():
        raise Refused("garbled", "the RAS service closed the connection without a report")
    return {"format": form, "text": text}
