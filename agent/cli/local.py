"""Ask the daemon of this node over its socket: one line out, one line back, one deadline."""

import json
import socket
import time
from typing import Any

SOCKET = "/run/gpudiag/agent.sock"
ANSWER_CAP = 32 << 20


class Unanswered(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """Nobody answered in time, or not in a way that can be read; the message is one clause."""


class Refused(Exception):  # noqa: N818 - same
    """The daemon says no; the message says why."""


def ask(question: dict[str, Any], *, path: str = SOCKET, deadline_s: float) -> dict[str, Any]:
    """Return the daemon's answer; raises Unanswered, Refused."""
    end = time.monotonic() + deadline_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(deadline_s)
            connection.connect(path)
            connection.sendall(json.dumps(question).encode() + b"\n")
            line = _line(connection, end)
    except TimeoutError:
        raise Unanswered(f"no answer in {deadline_s:g} s") from None
    except FileNotFoundError:
        raise Unanswered("no agent runs on this node") from None
    except ConnectionRefusedError:
        raise Unanswered("the agent on this node was killed") from None
    except OSError as problem:
        raise Unanswered(f"{path}: {problem.strerror or problem}") from None
    return _read(line)


def _line(connection: socket.socket, end: float) -> bytes:
    answer = bytearray()
    while not answer.endswith(b"\n") and len(answer) < ANSWER_CAP:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        piece = connection.recv(1 << 16)
        if not piece:
            break
        answer += piece
    return bytes(answer)


def _read(line: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except ValueError:
        raise Unanswered("the agent hung up, or said nothing that can be read") from None
    if isinstance(reply, dict) and isinstance(reply.get("ok"), dict):
        answer: dict[str, Any] = reply["ok"]
        return answer
    said = reply.get("refused") if isinstance(reply, dict) else None
    raise Refused(str(said)[:500]) if said else Unanswered("the agent's answer is no answer")
