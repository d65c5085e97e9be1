"""TCP to port 22: what the verb says of real servers of this machine, and what is made of it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.wanted import Peer, Wanted
from collectors.helpers.children import tcp as verb
from collectors.helpers.children.loop import Refused
from collectors.network.tcp import TcpAnswers, collect
from tests.recording import recorded


@contextmanager
def server(line: bytes) -> Iterator[int]:
    """Serve one connection that is told a line; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept = []

        def serve() -> None:
            connection = listening.accept()[0]
            connection.sendall(line)
            kept.append(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()
        kept[0].close()


@pytest.mark.parametrize(
    ("line", "banner"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0-OpenSSH_9.6"),
        (b"", ""),
        (b"\xff\x1b[2J\n", "\\xff\x1b[2J"),
        (b"x" * 4096, "x" * 255),
    ],
    ids=["sshd", "mute", "bytes", "long"],
)
def test_the_first_line_is_the_banner(
    line: bytes, banner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of at most 255 bytes is kept, whatever it holds; a mute server has none."""
    monkeypatch.setattr(verb, "BANNER_S", 0.2)
    with server(line) as port:
        said = verb.tcp("127.0.0.1", port)

    assert (True, False, banner) == (said["connected"], said["refused"], said["banner"])


def test_a_refusal_is_told_from_silence() -> None:
    """A port where nobody listens refuses: the host lives."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    said = verb.tcp("127.0.0.1", port)

    assert (False, True) == (said["connected"], said["refused"])


@pytest.mark.parametrize(
    ("address", "port"),
    [("gpu-018; id", 22), ("", 22), ("-oProxyCommand", 22), ("gpu-018", 0), ("gpu-018", 65536)],
)
def test_the_verb_takes_hosts_and_ports_alone(address: str, port: int) -> None:
    """What is neither a name nor an address, and what is no port, is refused."""
    with pytest.raises(Refused) as refused:
        verb.tcp(address, port)

    assert refused.value.cause == "garbled"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"answer": {"connected": True, "banner": "SSH-2.0-x"}}, (True, None)),
        ({"answer": {"refused": True}}, (False, None)),
        ({"answer": {"connected": "yes"}}, (False, "garbled")),
        ({"missing": {"cause": "timeout", "detail": "no answer in 6 s"}}, (False, "timeout")),
    ],
    ids=["speaks", "refuses", "garbled", "late"],
)
def test_what_is_made_of_the_answer(
    tmp_path: Path, answer: dict[str, Any], expected: tuple[bool, str | None]
) -> None:
    """A banner is an answer; what cannot be read, or did not come, is unseen."""
    asked = {"kind": "tcp", "args": {"address": "192.0.2.18", "port": 22}, **answer}
    wanted = Wanted(peers=(Peer(name="gpu-018", address="192.0.2.18"),))

    seen = asyncio.run(collect(recorded(tmp_path, answers=[asked]), wanted))

    assert isinstance(seen, TcpAnswers)
    one = seen.answers[0]
    assert expected == (one.answered, one.missing.cause.value if one.missing else None)
