"""`gpudiag fleet` that is refused, not reached, or called wrongly: one line, and what to do."""

import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.cli.fleet_site import Site, fleet, said
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import certificate, served, tls

# Instead of an answer: the connection is reset, as by one that closes it with unread bytes.
RESET = b"reset"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve for this module: nobody has reported."""
    folder, port = tmp_path_factory.mktemp("site"), free_port()
    with served(folder, port, ""):
        yield Site(folder, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("arguments", "role", "status", "error"),
    [
        (("nodes", "none"), "viewer", 404, "there is nothing of this name"),
        (("nodes", "../tokens"), "viewer", 404, "there is nothing of this name"),
        (("pause",), "viewer", 403, "this is for admin, operator; the credential is viewer"),
        (("enroll", "approve", "none"), "operator", 409, "no machine waits to be enrolled as none"),
        (("enroll", "revoke", "none"), "operator", 404, "there is nothing of this name"),
        (("pause", "--reason", "x" * 501), "operator", 422, "reason: String should have at most"),
    ],
)
def test_refusals(
    site: Site, arguments: tuple[str, ...], role: str, status: int, error: str
) -> None:
    """What the aggregator refuses is its own sentence, one line, with help, and status 64."""
    code, out, line, more = said(site.fleet(*arguments, role=role))
    begun = f"error: {site.url} answers {status}: {error}"
    assert (64, "", True, 1) == (code, out, line.startswith(begun), len(more)), line


def test_nobody_s_credential(site: Site) -> None:
    """A credential that is not known says how to get one."""
    ended = site.fleet("nodes", role="", GPUDIAG_FLEET_TOKEN="gpudiag_000000000000_" + "a" * 43)
    code, _, line, (hint,) = said(ended)
    assert (
        64,
        f"error: {site.url} answers 401: the credential is unknown, expired or revoked",
    ) == (
        code,
        line,
    )
    assert "gpudiag-aggregator token create --role viewer" in hint


def test_the_user_s_files(site: Site, tmp_path: Path) -> None:
    """fleet.toml and a token that is its owner's alone do without options and environment."""
    folder = tmp_path / "config" / "gpudiag"
    folder.mkdir(parents=True)
    (folder / "fleet.toml").write_text(f'aggregator = "{site.url}"\n')
    (folder / "token").write_text(site.token("viewer") + "\n")
    (folder / "token").chmod(0o600)
    private = fleet(tmp_path, "nodes")
    (folder / "token").chmod(0o640)
    code, _, line, (hint,) = said(fleet(tmp_path, "nodes"))
    assert (0, 64, f"error: {folder}/token: others can read your credential") == (
        private.returncode,
        code,
        line,
    )
    assert f" help: chmod 600 {folder}/token" == hint


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("agregator = 'x'", "agregator: unknown key"),
        ("aggregator = 'agg-1:9837'", "aggregator: String should match pattern"),
        ("aggregator = 'https://me:word@agg-1'", "aggregator: String should match pattern"),
        ("a b", "Expected '=' after a key"),
    ],
)
def test_wrong_file(tmp_path: Path, text: str, error: str) -> None:
    """A wrong settings file is named with the key that is wrong."""
    (tmp_path / "f.toml").write_text(text)
    code, _, line, _ = said(fleet(tmp_path, "--config", str(tmp_path / "f.toml"), "nodes"))
    assert (64, True) == (code, line.startswith(f"error: {tmp_path}/f.toml: {error}")), line


@pytest.mark.parametrize(
    ("arguments", "environment", "error"),
    [
        ((), {}, "no credential: {home}/config/gpudiag/token: No such file or directory"),
        ((), {"GPUDIAG_FLEET_TOKEN": "two words"}, "the credential is not one word of"),
        ((), {"GPUDIAG_FLEET_URL": "x"}, "GPUDIAG_FLEET_URL: no such setting"),
        (("--config", "/none.toml"), {}, "cannot read /none.toml: no such file"),
        (("--token-file", "/none"), {}, "no credential: /none: No such file or directory"),
        (
            ("--aggregator", "https://127.0.0.1:1", "--ca", "/none.pem"),
            {"GPUDIAG_FLEET_TOKEN": "x"},
            "/none.pem: No such file or directory",
        ),
        (
            ("--aggregator", "http://127.0.0.1:1"),
            {"GPUDIAG_FLEET_TOKEN": "x"},
            "http://127.0.0.1:1: Connection refused",
        ),
        (
            ("--aggregator", "http://agg-1.invalid"),
            {"GPUDIAG_FLEET_TOKEN": "x"},
            "http://agg-1.invalid: there is no host of this name",
        ),
    ],
)
def test_mistakes(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], error: str
) -> None:
    """Nothing that is missing or not reached ends in more than two lines."""
    code, out, line, more = said(fleet(tmp_path, *arguments, "nodes", **environment))
    begun = "error: " + error.format(home=tmp_path)
    assert (64, "", True, 1) == (code, out, line.startswith(begun), len(more)), line


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "answers what is no JSON"),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /x\r\n\r\n", "answers 302"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\n<html", "answers 502"),
        (b"SSH-2.0-x\r\n", ": "),
        (b"", "it hangs up without an answer"),
        (RESET, "it hangs up without an answer"),
    ],
)
def test_something_else_listens(tmp_path: Path, sent: bytes, error: str) -> None:
    """Whatever else stands at that address is one line, never a trace."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        pid = os.fork()
        while pid == 0:
            connection, _ = server.accept()
            connection.recv(65_536)
            if sent == RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.sendall(sent)
            connection.close()
        ended = fleet(tmp_path, "--aggregator", url, "nodes", GPUDIAG_FLEET_TOKEN="x")  # noqa: S106 - no secret
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    code, _, line, more = said(ended)
    assert (64, True, 1) == (code, line.startswith(f"error: {url}") and error in line, len(more)), (
        line
    )


@pytest.mark.tool("openssl")
def test_tls(tmp_path: Path) -> None:
    """Over TLS the aggregator's authority is asked for, and under mutual TLS one's certificate."""
    server, own = certificate(tmp_path, "server"), certificate(tmp_path, "client")
    port = free_port()
    with served(tmp_path, port, tls(server, f'client_ca = "{own[0]}"')):
        site = Site(tmp_path, f"https://127.0.0.1:{port}")
        mine = {"GPUDIAG_FLEET_CERTIFICATE": str(own[0]), "GPUDIAG_FLEET_KEY": str(own[1])}
        heard = site.fleet("--ca", str(server[0]), "nodes", **mine)
        strange = site.fleet("nodes", **mine)
        bare = site.fleet("--ca", str(server[0]), "nodes")
        site.url = f"http://127.0.0.1:{port}"
        plain = site.fleet("nodes")
    assert (0, "no nodes\n") == (heard.returncode, heard.stdout), heard.stderr
    assert [
        "its certificate is not trusted: self-signed certificate",
        "it hangs up without an answer",
        "it hangs up without an answer",
    ] == [said(one)[2].partition(f"127.0.0.1:{port}: ")[2] for one in (strange, bare, plain)]


def test_http_behind_https(site: Site) -> None:
    """https:// where no TLS is spoken says so."""
    url = site.url.replace("http:", "https:")
    _, _, line, (hint,) = said(site.fleet("--aggregator", url, "nodes"))
    assert (True, True) == (
        line.startswith(f"error: {url}: no TLS with it: "),
        hint.startswith(" help: try http:// instead of https://"),
    )
