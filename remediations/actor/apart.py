"""Ask the driver in a process of its own: a call that hangs in the kernel hangs nobody else.

A GPU that is to be reset is just the one on which a call may never come back.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from remediations.actor.registry import Refused

MOST_BYTES = 1 << 20


def apart(call: Callable[[], Any], seconds: float) -> Any:  # noqa: ANN401 - JSON
    """Return what *call* returns; Refused where it raises, or does not end in time."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        _child(call, writing)
    os.close(writing)
    try:
        text = _read(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        _end(pid)
    if text is None:
        raise Refused("timeout", f"the driver gave no answer in {seconds:g} s")
    try:
        answer = json.loads(text)
    except ValueError:
        raise Refused("crashed", "the process that asked the driver ended without a word") from None
    if "no" in answer:
        raise Refused("crashed", str(answer["no"])[:300])
    return answer["ok"]


def _child(call: Callable[[], Any], writing: int) -> None:
    try:
        try:
            answer = {"ok": call()}
        except Refused as no:
            answer = {"no": no.detail}
        except Exception as problem:  # noqa: BLE001 - it is told, and the process ends
            answer = {"no": repr(problem)}
        with os.fdopen(writing, "wb") as sink:
            sink.write(json.dumps(answer).encode())
    finally:
        os._exit(0)


def _read(reading: int, end: float) -> bytes | None:
    """Return all that is written until the other end is closed; None where that takes too long."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    pieces: list[bytes] = []
    while (left := end - time.monotonic()) > 0:
        if not poll.poll(left * 1000):
            break
        piece = os.read(reading, 65_536)
        if not piece or sum(map(len, pieces)) > MOST_BYTES:
            return b"".join(pieces)
        pieces.append(piece)
    return None


def _end(pid: int) -> None:
    """End it, and let one go that is stuck in the kernel: nobody can wait for that."""
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return
        time.sleep(0.005)  # noqa: TID251 - the actor may wait; the agent's loop may not
