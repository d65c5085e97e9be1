"""The actor's loop: accepts callers, serves each in a process of its own, and keeps what it owes.

Unlike the reader, a verb that was begun is finished though its caller hangs up: half an act is
worse than an act nobody waits for. The child then sees the end of its input and goes.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from collectors.helpers.children import loop
from collectors.helpers.children.loop import Refused
from remediations.actor import trust
from remediations.actor.gate import LANES, Gate
from remediations.actor.journal import Journal
from remediations.actor.registry import TICKS, Tick

MOST_SESSIONS = 16
# A plan has 8,000 letters, each of which JSON may write in 6: sixteen callers fit into the memory.
MOST_REQUEST = 1 << 16
ROUND_MS = 500


class Actor:
    """One listening socket, the callers behind it, and the ticks that are due."""

    def __init__(self, listener: socket.socket, folder: Path, policy: str) -> None:
        self._listener = listener
        self._folder = folder
        self._policy = policy
        self._sessions: set[int] = set()
        self._ticking: dict[str, int] = {}
        self._due = dict.fromkeys(TICKS, 0.0)
        self._stopping = False

    def serve(self) -> None:
        """Serve until TERM, and then until the step is done that was begun."""
        signal.signal(signal.SIGTERM, self._stop)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while not self._stopping:
            if poll.poll(ROUND_MS):
                self._accept()
            self._reap()
            self._tick()
        self._listener.close()
        for lane in LANES:
            with Journal(self._folder).locked(lane):
                pass

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _accept(self) -> None:
        peer, _ = self._listener.accept()
        with peer:
            who = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            uid = struct.unpack("3i", who)[1]
            if refusal := self._refusal(uid):
                _say(peer, loop.refusal("denied", refusal))
                return
            try:
                self._sessions.add(self._child(partial(self._session, peer, uid)))
            except OSError as problem:  # no process more is allowed
                _say(peer, loop.refusal("crashed", f"the actor starts no process: {problem}"))

    def _refusal(self, uid: int) -> str | None:
        try:
            if uid != 0 and uid not in trust.users(self._policy):
                return f"the actor's policy does not name uid {uid}"
        except Refused as no:
            return no.detail
        # Root is let in beside them: a captured agent could hold them all.
        if uid != 0 and len(self._sessions) >= MOST_SESSIONS:
            return f"all {MOST_SESSIONS} sessions are taken, by callers or by stuck calls"
        return None

    def _session(self, peer: socket.socket, uid: int) -> None:
        gate = Gate(self._folder, uid, self._policy)
        with peer.makefile("rb") as source, peer.makefile("wb") as sink:
            sink.write(loop.GREETING)
            sink.flush()
            loop.serve(gate.verbs(), source, sink, MOST_REQUEST)

    def _child(self, work: Callable[[], None]) -> int:
        if pid := os.fork():
            return pid
        try:
            self._listener.close()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            work()
        except OSError:
            pass
        finally:
            os._exit(0)

    def _reap(self) -> None:
        self._sessions = {pid for pid in self._sessions if not _gone(pid)}
        self._ticking = {name: pid for name, pid in self._ticking.items() if not _gone(pid)}

    def _tick(self) -> None:
        """Start what is due; one that has not ended yet is not started twice."""
        for name, tick in TICKS.items():
            now = time.monotonic()
            if now >= self._due[name] and name not in self._ticking:
                self._due[name] = now + tick.seconds
                with contextlib.suppress(OSError):  # no process more is allowed: it is due again
                    self._ticking[name] = self._child(partial(self._once, tick))

    def _once(self, tick: Tick) -> None:
        try:
            policy = trust.policy(self._policy)
        except Refused as no:
            sys.stderr.write(f"{no.detail}\n")
            policy = None
        try:
            tick.call(self._folder, policy)
        except Exception as problem:  # noqa: BLE001 - it is due again soon, and the log says why
            sys.stderr.write(f"{tick.call.__name__}: {problem!r:.500}\n")


def _say(peer: socket.socket, line: bytes) -> None:
    try:
        peer.sendall(line)
    except OSError:
        return


def _gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
