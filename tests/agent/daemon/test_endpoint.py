"""The local socket: hostile callers get nothing and hold up nobody."""

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.cli.errors import Mistake
from agent.daemon.endpoint import MOST_PEERS, Endpoint, bind
from agent.daemon.peer import Peer, peer
from tests.agent.daemon.documents import finding, walked
from tests.agent.daemon.fake import Fake

ASKING = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{"ask": "release-gpus", "seconds": 60}\\n')
print(s.recv(4096).decode())
"""


async def asked(path: Path, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(line)
    try:
        return await asyncio.wait_for(reader.readline(), 5.0)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.sock"


@pytest.fixture
def bound(path: Path) -> Iterator[socket.socket]:
    """Bind as the daemon does: before there is a loop."""
    with bind(path) as listening:
        yield listening


@pytest.fixture
async def served(path: Path, bound: socket.socket) -> AsyncIterator[Path]:
    task = asyncio.ensure_future(Endpoint(Fake(walked(finding())), bound, None).run())
    await asyncio.sleep(0)
    yield path
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
def passable() -> Iterator[tuple[Path, socket.socket]]:
    """Bind where other users can reach it."""
    folder = Path("/tmp") / f"gpudiag-peer-{os.getpid()}"
    folder.mkdir(mode=0o755)
    with bind(folder / "agent.sock") as listening:
        yield folder / "agent.sock", listening
    (folder / "agent.sock").unlink()
    folder.rmdir()


async def test_one_line_asks_and_one_line_answers(served: Path) -> None:
    """The caller of the agent's own user sees all."""
    reply = json.loads(await asked(served, b'{"ask": "status"}\n'))

    assert ("gpudiag.status/1", "gpu-017") == (reply["ok"]["schema"], reply["ok"]["node"])


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        (b"hello\n", "a question is one JSON object on one line"),
        (b"[]\n", "a question is one JSON object on one line"),
        (b'{"ask": "x"}\n', "no such question: status, hook, release-gpus, observations, incident"),
        (b"[" * 4000 + b"\n", "a question is one JSON object on one line"),
        (b"\xff\xfe\n", "a question is one JSON object on one line"),
        (b"x" * 100_000 + b"\n", None),
    ],
)
async def test_what_is_no_question_gets_a_reason_or_nothing(
    served: Path, line: bytes, reply: str | None
) -> None:
    """Garbage is refused in words; a line that does not end in 4 KiB is hung up on."""
    got = await asked(served, line)

    assert (reply is not None, True) == (bool(got), (reply or "").encode() in got)


async def test_silent_callers_hold_up_nobody(served: Path) -> None:
    """With every place taken by callers who say nothing, one more is turned away at once."""
    held = [await asyncio.open_unix_connection(str(served)) for _ in range(MOST_PEERS)]
    turned_away = await asked(served, b'{"ask": "hook"}\n')
    held.pop()[1].close()
    await asyncio.sleep(0.05)
    answered = await asked(served, b'{"ask": "hook"}\n')
    for _, writer in held:
        writer.close()

    assert (b"", True) == (turned_away, answered.startswith(b'{"ok"'))


def test_a_socket_that_a_killed_agent_left_is_replaced(path: Path) -> None:
    """After kill -9 the file is there and nobody answers: the next agent takes its place."""
    bind(path).close()

    with bind(path) as second:
        assert (True, 0o666) == (second.fileno() > 0, path.stat().st_mode & 0o777)


def test_two_agents_are_one_too_many(path: Path) -> None:
    """Where an agent answers, a second one is a mistake that names the first's place."""
    with bind(path), pytest.raises(Mistake) as raised:
        bind(path)

    assert f"another agent answers at {path} already" == raised.value.what


@pytest.mark.root
@pytest.mark.tool("setpriv")
async def test_who_asks_is_known_by_the_kernel(passable: tuple[Path, socket.socket]) -> None:
    """A stranger, and a member of the trusted group, each over the real socket."""
    place, listening = passable
    one = Fake()
    task = asyncio.ensure_future(Endpoint(one, listening, 4343).run())

    async def told(*rights: str) -> str:
        argv = ["setpriv", "--reuid", "4242", "--regid", "4242", *rights]
        argv += ["/usr/bin/python3", "-I", "-c", ASKING, str(place)]
        process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
        return (await process.communicate())[0].decode()

    stranger, member = await told("--clear-groups"), await told("--groups", "4343,7")
    task.cancel()
    await asyncio.wait([task])

    assert (True, True, [60.0]) == ("refused" in stranger, '"ok"' in member, one.released)


def test_the_peer_s_credentials_are_read_from_any_stream() -> None:
    """A pair of sockets of our own is trusted: it is the agent's own user."""
    one, other = socket.socketpair()
    with one, other:
        assert Peer(uid=os.geteuid(), trusted=True) == peer(one, None)
