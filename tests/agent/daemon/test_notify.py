"""What systemd hears, on a real datagram socket of either kind."""

import socket
import time
from pathlib import Path

import pytest

from agent.daemon.notify import Notify


@pytest.mark.parametrize("abstract", [False, True])
def test_the_words_of_sd_notify(tmp_path: Path, abstract: bool) -> None:  # noqa: FBT001 - a parameter
    """READY, RELOADING with the monotonic time, WATCHDOG with a status in one line, STOPPING."""
    name = f"@gpudiag-test-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name[1:] if abstract else name)
        systemd.settimeout(5.0)
        told = Notify(name)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        told.ready("waits")
        told.reloading()
        told.walked("fault,\n2 incidents")
        told.stopping()
        told.close()
        said = [systemd.recv(4096).decode() for _ in range(4)]
    head, _, stamp = said[1].partition("MONOTONIC_USEC=")

    assert (
        "READY=1\nSTATUS=waits",
        "RELOADING=1\n",
        True,
        "WATCHDOG=1\nSTATUS=fault, 2 incidents",
        "STOPPING=1",
    ) == (said[0], head, 0 <= int(stamp) - before < 5_000_000, said[2], said[3])


def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No socket named, or one that nobody reads: the daemon goes on."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    for told in (Notify(), Notify(str(tmp_path / "absent"))):
        told.ready("up")
        told.walked("ok")
        told.close()

    assert "NOTIFY_SOCKET" not in __import__("os").environ
