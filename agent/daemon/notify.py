"""What systemd is told of a Type=notify service: sd_notify(3), a datagram, no library."""

import contextlib
import os
import socket
import time

STATUS_CAP = 200


class Notify:
    """The socket that systemd named; without one, nothing is sent and nothing fails."""

    def __init__(self, address: str | None = None) -> None:
        self._socket: socket.socket | None = None
        if not (name := address or os.environ.get("NOTIFY_SOCKET", "")):
            return
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        # systemd reads slowly at worst; the loop never waits for it.
        self._socket.settimeout(0)
        with contextlib.suppress(OSError):
            self._socket.connect("\0" + name[1:] if name.startswith("@") else name)

    def _send(self, *lines: str) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.send("\n".join(lines).encode())

    def ready(self, status: str) -> None:
        """Say that the service is up, at start or after a reload."""
        self._send("READY=1", _status(status))

    def reloading(self) -> None:
        """Say that settings are read anew; READY follows."""
        stamp = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={stamp}")

    def walked(self, status: str) -> None:
        """Say that a walk was finished: the one sign of life, so that a stalled walk ends us."""
        self._send("WATCHDOG=1", _status(status))

    def stopping(self) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Let go of the socket."""
        if self._socket is not None:
            self._socket.close()


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())[:STATUS_CAP]}"
