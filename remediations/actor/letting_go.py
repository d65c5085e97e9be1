"""Have the agent of this node let go of the driver for the time of a reset."""

import json
import socket
from typing import Any

from remediations.actor.registry import Refused

AGENT = "/run/gpudiag/agent.sock"
ASK_S = 6.0
MOST_BYTES = 8 << 20


def let_go(seconds: float) -> bool:
    """Have it keep off for *seconds*; False where no agent runs. Refused where it cannot let go.

    One that a person has released already is that person's: it is not reset under their hands.
    """
    known = _ask({"ask": "status"})
    if known is None:
        return False
    if known.get("agent", {}).get("released_until") is not None:
        raise Refused("denied", "a person has had the GPUs released, and works with them")
    answer = _ask({"ask": "release-gpus", "seconds": seconds})
    left = [] if answer is None else answer.get("left", [])
    if left:
        _ask({"ask": "release-gpus", "seconds": 0})
        raise Refused("denied", f"our own helper holds a GPU and cannot be ended: {left[0]:.120}")
    return answer is not None


def take_up() -> None:
    """Let it ask the driver again; where it does not answer, it does so by itself in time."""
    try:
        _ask({"ask": "release-gpus", "seconds": 0})
    except Refused:
        return


def _ask(question: dict[str, Any]) -> dict[str, Any] | None:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(ASK_S)
            link.connect(AGENT)
            link.sendall(json.dumps(question).encode() + b"\n")
            with link.makefile("rb") as source:
                line = source.readline(MOST_BYTES)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except OSError as problem:
        raise Refused("timeout", f"the agent does not let go of the GPUs: {problem}") from None
    try:
        answer = json.loads(line)
    except ValueError:
        raise Refused("garbled", "the agent's answer cannot be read") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), dict):
        raise Refused("denied", f"the agent does not let go of the GPUs: {answer!s:.200}")
    told: dict[str, Any] = answer["ok"]
    return told
