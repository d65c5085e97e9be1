"""The reader as a unit of its own: root, on a unix socket, fixed verbs for the users it is told.

Each connection is served by a forked child, so that a verb that hangs holds up nobody else. When
the caller hangs up, the child is ended: TERM, 2 s, KILL; one that stays in the kernel keeps its
place among the sessions, and when all places are taken the answer is no.
"""

import contextlib
import functools
import os
import pwd
import select
import signal
import socket
import stat
import struct
import sys
import time
import tomllib
from typing import Any, NamedTuple

from collectors.helpers.children import loop

POLICY = "/etc/gpudiag/reader.toml"
MOST_SESSIONS = 16
TERM_S = 2.0
FIRST_PASSED = 3  # SD_LISTEN_FDS_START, sd_listen_fds(3)


class PolicyError(Exception):
    """The policy cannot be trusted or read; the message says why and what to do."""


class Policy(NamedTuple):
    """Who may ask."""

    uids: frozenset[int]


class Session(NamedTuple):
    """One connection and the child that serves it."""

    pid: int
    peer: socket.socket
    ended_at: float | None = None


def policy(path: str) -> Policy:
    """Read `users = ["gpudiag", 1042]`; without a file, the user gpudiag alone may ask."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return Policy(_uids(["gpudiag"], path))
    with open(handle, "rb") as file:
        seen = os.fstat(handle)
        if seen.st_uid != 0 or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PolicyError(f"{path} is refused: chown root {path}; chmod go-w {path}")
        try:
            table = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise PolicyError(f"{path}: {problem}") from None
    users = table.pop("users", None)
    if table or not isinstance(users, list):
        raise PolicyError(f"{path}: it must hold users = [...] and nothing else")
    return Policy(_uids(users, path))


def _uids(users: list[Any], path: str) -> frozenset[int]:
    known = set()
    for user in users:
        try:
            known.add(user if type(user) is int else pwd.getpwnam(str(user)).pw_uid)
        except KeyError:
            sys.stderr.write(f"{path}: there is no user {user!r} on this node\n")
    return frozenset(known)


class Unit:
    """Accepts connections, forks for each, and ends what its caller has left."""

    def __init__(self, verbs: loop.Verbs, listener: socket.socket, allowed: Policy) -> None:
        self._verbs = verbs
        self._listener = listener
        self._allowed = allowed
        self._sessions: dict[int, Session] = {}
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)

    def serve(self) -> None:
        """Serve for ever."""
        while True:
            for handle, _ in self._poll.poll(500):
                if handle == self._listener.fileno():
                    self._accept()
                elif handle in self._sessions:
                    self._hung_up(handle)
            self._reap()

    def _accept(self) -> None:
        peer, _ = self._listener.accept()
        who = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = struct.unpack("3i", who)[1]
        if refusal := self._refusal(uid):
            with contextlib.suppress(OSError):
                peer.sendall(loop.refusal("denied", refusal))
            peer.close()
            return
        if (pid := os.fork()) == 0:
            self._session(peer)
        self._sessions[peer.fileno()] = Session(pid, peer)
        self._poll.register(peer, select.POLLRDHUP)

    def _refusal(self, uid: int) -> str | None:
        if uid != 0 and uid not in self._allowed.uids:
            return f"the reader's policy does not name uid {uid}"
        if len(self._sessions) >= MOST_SESSIONS:
            return f"all {MOST_SESSIONS} sessions are taken, by callers or by stuck calls"
        return None

    def _session(self, peer: socket.socket) -> None:
        """Serve one caller in the forked child; never returns."""
        try:
            self._listener.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            with peer.makefile("rb") as source, peer.makefile("wb") as sink:
                sink.write(loop.GREETING)
                sink.flush()
                loop.serve(_without_root(self._verbs), source, sink)
        except OSError:
            pass
        finally:
            os._exit(0)

    def _hung_up(self, handle: int) -> None:
        session = self._sessions[handle]
        self._poll.unregister(handle)
        _signal(session.pid, signal.SIGTERM)
        self._sessions[handle] = session._replace(ended_at=time.monotonic())

    def _reap(self) -> None:
        for handle, session in tuple(self._sessions.items()):
            if _gone(session.pid):
                if session.ended_at is None:
                    self._poll.unregister(handle)
                session.peer.close()
                del self._sessions[handle]
            elif session.ended_at and time.monotonic() - session.ended_at > TERM_S:
                _signal(session.pid, signal.SIGKILL)


def _without_root(verbs: loop.Verbs) -> loop.Verbs:
    """Return the verbs with their `root` out of a caller's reach: it is a path."""

    def guarded(verb: loop.Verb) -> loop.Verb:
        @functools.wraps(verb)
        def call(**args: Any) -> Any:  # noqa: ANN401 - JSON
            if "root" in args:
                raise loop.Refused("denied", "a caller names no path")
            return verb(**args)

        return call

    return {name: guarded(verb) for name, verb in verbs.items()}


def _gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def listener(path: str | None) -> socket.socket:
    """Return the socket that systemd passed, or one bound at *path*."""
    if path is None:
        if os.environ.get("LISTEN_PID") != str(os.getpid()):
            raise PolicyError(
                "no socket was passed: start the unit by its .socket, or give --socket"
            )
        return socket.socket(fileno=FIRST_PASSED)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(path)
    # Anyone may knock: who is let in is decided by the peer's credentials, not by the file's mode.
    os.chmod(path, 0o666)  # noqa: S103 - see above
    bound.listen(MOST_SESSIONS)
    return bound
