"""The command as a person calls it: what it prints, and with what it ends."""

import asyncio
import os
import signal
import socket
import stat
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, run
from sys import executable

import aiohttp
import pytest

from aggregator.credentials import FORM
from tests.aggregator.reports import lines, report
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import said, served

COMMAND = (executable, "-I", "-m", "aggregator")


def call(*arguments: str) -> CompletedProcess[str]:
    """Run the command to its end."""
    return run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nothing",), "no such command 'nothing'"),
        (("serve", "--listen", "0.0.0.0:1"), "listen: 0.0.0.0 can be reached from elsewhere, and"),
        (("serve", "--listen", "here"), "listen: here is no ADDRESS:PORT"),
        (("serve", "--config", "/none/a.toml"), "cannot read /none/a.toml: no such file"),
        (("serve", "--data", "/proc/none"), "cannot make /proc/none: No such file or directory"),
        (("token", "create"), "missing option '--role'"),
        (
            ("token", "create", "--role", "viewer", "--url", "http://a"),
            "--url goes with --role join",
        ),
        (("token", "create", "--role", "join", "--url", "agg-1"), "--url goes with --role join"),
        (("token", "create", "--role", "node"), "--node goes with --role node"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], error: str) -> None:
    """A mistake is one line and one of help, with status 64."""
    ended = call(*arguments)
    first = ended.stderr.splitlines()[0]
    assert (64, 2, True) == (
        ended.returncode,
        len(ended.stderr.splitlines()),
        first.startswith(f"error: {error}"),
    ), ended.stderr


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("listen = 5", "listen: Input should be a valid string"),
        ("[tls]\ncert = 'a'", "tls.certificate: Field required"),
        ("keep = 5", "keep: unknown key"),
        ("[[places]]\nnodes = []", "places.0.nodes: "),
        ("a b", "Expected '=' after a key"),
    ],
)
def test_settings(tmp_path: Path, text: str, error: str) -> None:
    """A wrong settings file is named with the key that is wrong."""
    config = tmp_path / "a.toml"
    config.write_text(text)
    ended = call("serve", "--config", str(config))
    assert (64, True) == (ended.returncode, f"{config}: {error}" in ended.stderr), ended.stderr


def test_no_database(tmp_path: Path) -> None:
    """A file that is no database is one line."""
    (tmp_path / "gpudiag.db").write_text("this is no database, but long enough to look at" * 9)
    ended = call("migrate", "--data", str(tmp_path))
    assert (64, f"error: {tmp_path}/gpudiag.db: file is not a database") == (
        ended.returncode,
        ended.stderr.splitlines()[0],
    )


def test_migrate(tmp_path: Path) -> None:
    """Migrating says from where to where, and that there was nothing to do."""
    said = [call("migrate", "--data", str(tmp_path)).stdout for _ in range(2)]
    assert ["schema 0 -> 2\n", "schema 2, up to date\n"] == said


def test_token(tmp_path: Path) -> None:
    """A token is printed alone on its line; the folder is its owner's."""
    ended = call("token", "create", "--role", "admin", "--data", str(tmp_path / "new"))
    mode = stat.S_IMODE((tmp_path / "new").stat().st_mode)
    assert (True, 0o700) == (FORM.fullmatch(ended.stdout.rstrip("\n")) is not None, mode)


def test_join_file(tmp_path: Path) -> None:
    """With --url the output is the join file: the token, and behind it where to join."""
    url = ("--url", "https://agg-1:9837/")
    ended = call("token", "create", "--role", "join", "--data", str(tmp_path / "new"), *url)
    token, where = ended.stdout.split()
    assert (True, "https://agg-1:9837") == (FORM.fullmatch(token) is not None, where)


@pytest.mark.serial
def test_first_report(tmp_path: Path) -> None:
    """From nothing to the first report: a server, one join token, one enrolment."""
    port = free_port()

    async def enrol_and_report(join: str) -> tuple[int, int]:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            asked = {"node": "gpu-001", "machine": "m-1", "nonce": "n" * 16}
            bearer = {"Authorization": f"Bearer {join}"}
            async with client.post("/v1/enroll", json=asked, headers=bearer) as answer:
                bearer = {"Authorization": f"Bearer {(await answer.json())['credential']}"}
            body = lines([report()])
            async with client.post("/v1/reports", data=body, headers=bearer) as taken:
                return answer.status, taken.status

    with served(tmp_path, port, ""):
        ended = call("token", "create", "--role", "join", "--data", str(tmp_path / "data"))
        statuses = asyncio.run(enrol_and_report(ended.stdout.strip()))
    assert (201, 200) == statuses


@pytest.mark.serial
def test_second_server(tmp_path: Path) -> None:
    """A second server on the same folder is refused."""
    with served(tmp_path, free_port(), ""):
        ended = call("serve", "--data", str(tmp_path / "data"))
    assert (64, f"error: {tmp_path}/data is used by another server") == (
        ended.returncode,
        ended.stderr.splitlines()[0],
    )


@pytest.mark.serial
def test_taken_port(tmp_path: Path) -> None:
    """A port that somebody has is one line, not a trace."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = call("serve", "--data", str(tmp_path), "--listen", where)
    assert (64, f"error: cannot listen on {where}: Address already in use") == (
        ended.returncode,
        ended.stderr.splitlines()[-2],
    )


@pytest.mark.serial
def test_systemd(tmp_path: Path) -> None:
    """systemd is told when the server listens, when it reloads, and when it stops."""
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(str(tmp_path / "notify"))
    heard.settimeout(10)
    argv = [*COMMAND, "serve", "--data", str(tmp_path), "--listen", f"127.0.0.1:{free_port()}"]
    environment = os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify")}
    with Popen(argv, stderr=PIPE, env=environment) as process, heard:
        states = [heard.recv(999).split(b"\n")[0]]
        process.send_signal(signal.SIGHUP)
        states += [heard.recv(999).split(b"\n")[0] for _ in range(2)]
        process.terminate()
        states.append(heard.recv(999))
        said(process)
    assert [b"READY=1", b"RELOADING=1", b"READY=1", b"STOPPING=1"] == states
