"""The verb `tcp`: whether a port of another host accepts, and what it says first."""

import ipaddress
import re
import socket
import time
from typing import Any

from collectors.helpers.children.loop import Refused

CONNECT_S = 2.0
BANNER_S = 2.0
BANNER_CAP = 255

# gpu-018        gpu-018.example.net
HOST = re.compile(r"[0-9A-Za-z_](?:[0-9A-Za-z_.-]{0,252}[0-9A-Za-z_])?")


def tcp(address: str, port: int) -> dict[str, Any]:
    """Connect, wait for the first line, and hang up; no byte is sent.

    `connected` and `refused` say how it ended, `banner` what came, `error` the system's word for
    the rest. A refusal is an answer, too: the host lives and hears us.
    """
    if isinstance(port, bool) or not 1 <= port <= 65535:  # noqa: PLR2004 - all ports there are
        raise Refused("garbled", f"{port!r} is no port")
    if not _host(address):
        raise Refused("garbled", f"{address[:40]!r} is no address and no name")
    began = time.monotonic()
    told: dict[str, Any] = {"connected": False, "refused": False, "banner": "", "error": ""}
    try:
        with socket.create_connection((address, port), timeout=CONNECT_S) as open_:
            told |= {"connected": True, "banner": _banner(open_)}
    except ConnectionRefusedError:
        told["refused"] = True
    except TimeoutError:
        told["error"] = f"no answer in {CONNECT_S:g} s"
    except OSError as problem:
        told["error"] = str(problem.strerror or problem)[:BANNER_CAP]
    return {**told, "seconds": round(time.monotonic() - began, 4)}


def _host(address: str) -> bool:
    if HOST.fullmatch(address):
        return True
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _banner(connection: socket.socket) -> str:
    """Return the first line as text; empty where none came in time."""
    end = time.monotonic() + BANNER_S
    data = b""
    try:
        while b"\n" not in data and len(data) < BANNER_CAP:
            connection.settimeout(max(end - time.monotonic(), 0.001))
            piece = connection.recv(BANNER_CAP - len(data))
            if not piece:
                break
            data += piece
    except OSError:
        pass
    return data.partition(b"\n")[0].rstrip(b"\r").decode("ascii", "backslashreplace")
