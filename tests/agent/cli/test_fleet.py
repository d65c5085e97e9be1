"""`gpudiag fleet` against a real aggregator: what it prints, and how every failure is said."""

import json
import os
import signal
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any

import pytest

from aggregator.wire import Report
from tests.aggregator.reports import GPU, lines, report, snapshot
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import certificate, served, tls


class Site:
    """A served aggregator with a credential for each role, in a folder of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.made: dict[tuple[str, ...], str] = {}

    def token(self, role: str, *more: str) -> str:
        """Return a credential, made at the first time."""
        if (role, *more) not in self.made:
            self.made[role, *more] = self._make(role, *more)
        return self.made[role, *more]

    def _make(self, role: str, *more: str) -> str:
        argv = [sys.executable, "-I", "-m", "aggregator", "token", "create", "--role", role]
        argv += ["--data", str(self.folder / "data"), *more]
        return run(argv, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

    def post(self, path: str, body: bytes, token: str) -> Any:
        """Send what a node sends."""
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(self.url + path, data=body, headers=head)  # noqa: S310 - a loopback address
        with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - same
            return json.loads(answer.read())

    def tell(self, *reports: Report) -> None:
        """Report as the node of the first one."""
        self.post("/v1/reports", lines(reports), self.token("node", "--node", reports[0].node))

    def fleet(
        self, *arguments: str, role: str = "viewer", **environment: str
    ) -> CompletedProcess[str]:
        """Run the command as somebody of a role."""
        given = {"GPUDIAG_FLEET_TOKEN": self.token(role)} if role else {}
        return fleet(
            self.folder, *arguments, GPUDIAG_FLEET_AGGREGATOR=self.url, **given, **environment
        )


def fleet(home: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run the command with nothing of this user's own settings."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUDIAG_")}
    return run(
        [sys.executable, "-I", "-m", "agent", "fleet", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=clean | {"XDG_CONFIG_HOME": str(home / "config"), "HOME": str(home)} | environment,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve for this module: one node with a lost GPU, one that is well."""
    folder, port = tmp_path_factory.mktemp("site"), free_port()
    with served(folder, port, ""):
        site = Site(folder, f"http://127.0.0.1:{port}")
        site.tell(snapshot(1))
        site.tell(report(1, node="gpu-002"))
        yield site


def test_nodes_are_listed(site: Site) -> None:
    """Each node is a row with state, what it said and when it was heard; the first line counts."""
    ended = site.fleet("nodes")
    first, head, *rows = ended.stdout.splitlines()
    assert (0, "2 nodes: 2 ok; 1 said fault", ["NODE", "STATE", "SAID", "HEARD"], "") == (
        ended.returncode,
        first,
        head.split(),
        ended.stderr,
    )
    assert [["gpu-001", "ok", "fault"], ["gpu-002", "ok", "ok"]] == [r.split()[:3] for r in rows]


def test_a_node_is_shown(site: Site) -> None:
    """A node's page has its findings, its parts by serial number and its versions."""
    shown = site.fleet("nodes", "gpu-001").stdout
    wanted = ("gpu-001: ok, said fault", "it left the bus", GPU, "96.00.74", "580.65.06")
    assert [] == [word for word in wanted if word not in shown]


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ((), ["gpu-001", "gpu-002"]),
        (("--verdict", "fault"), ["gpu-001"]),
        (("--state", "lost"), []),
        (("--state", "lost", "--state", "ok", "--verdict", "ok"), ["gpu-002"]),
    ],
)
def test_json(site: Site, chosen: tuple[str, ...], names: list[str]) -> None:
    """--json is one document and nothing else; --state and --verdict choose."""
    found = json.loads(site.fleet("nodes", "--json", *chosen).stdout)
    assert names == [node["node"] for node in found["items"]]


def test_more_than_a_page(tmp_path: Path) -> None:
    """A fleet of more nodes than the API gives at once is listed whole."""
    from aggregator.store.sqlite import SqliteStore  # noqa: PLC0415 - of this test alone
    from tests.aggregator.store.fleet import filled  # noqa: PLC0415 - same

    (tmp_path / "data").mkdir(mode=0o700)
    SqliteStore.prepare(tmp_path / "data" / "gpudiag.db")
    filled(tmp_path / "data" / "gpudiag.db", 2345)
    port = free_port()
    with served(tmp_path, port, ""):
        ended = Site(tmp_path, f"http://127.0.0.1:{port}").fleet("nodes", "--json")
    assert 2345 == len({node["node"] for node in json.loads(ended.stdout)["items"]})


def test_enrolment(site: Site) -> None:
    """A second machine under a name waits, is listed, approved, let in, and can be revoked."""
    join = site.token("join")
    asked = {"node": "gpu-003", "machine": "m-1", "nonce": "n" * 16}
    site.post("/v1/enroll", json.dumps(asked).encode(), join)
    again = json.dumps(asked | {"machine": "m-2", "nonce": "o" * 16}).encode()
    waits = site.post("/v1/enroll", again, join)["state"]
    listed = site.fleet("enroll").stdout
    approved = site.fleet("enroll", "approve", "gpu-003", role="operator")
    inside = site.post("/v1/enroll", again, join)["node"]
    revoked = site.fleet("enroll", "revoke", "gpu-003", role="operator")
    (last,) = json.loads(site.fleet("enroll", "--json").stdout)["items"]
    assert ("pending", True, 0, "gpu-003", 0, "revoked") == (
        waits,
        "m-2 since " in listed,
        approved.returncode,
        inside,
        revoked.returncode,
        last["state"],
    )
    assert "gpu-003: machine m-2 is let in when it asks again\n" == approved.stdout


def test_maintenance(site: Site) -> None:
    """A node under maintenance is listed with its reason, and as such among the nodes."""
    before = site.fleet("maintenance").stdout
    begun = site.fleet(
        *("maintenance", "begin", "gpu-002", "--hours", "2", "--reason", "new fans"),
        role="operator",
    )
    listed, nodes = site.fleet("maintenance").stdout, site.fleet("nodes").stdout
    ended = site.fleet("maintenance", "end", "gpu-002", role="operator")
    after = json.loads(site.fleet("maintenance", "--json").stdout)
    assert ("no node is under maintenance\n", 0, 0, {"items": []}) == (
        before,
        begun.returncode,
        ended.returncode,
        after,
    )
    assert (True, True) == ("new fans" in listed, "maintenance  ok" in nodes)


def test_pause(site: Site) -> None:
    """pause and resume are seen by who asks for the leases, with by whom and why."""
    paused = site.fleet("pause", "--reason", "storage moves", role="operator")
    during = site.fleet("leases").stdout
    resumed = site.fleet("resume", role="operator")
    after = json.loads(site.fleet("leases", "--json").stdout)
    assert (0, True, 0, False, []) == (
        paused.returncode,
        during.startswith("all acting is paused since ") and "storage moves" in during,
        resumed.returncode,
        after["pause"]["on"],
        after["items"],
    )


def test_leases_and_breaker(site: Site) -> None:
    """A lease is listed and ended; the breaker is shown, and reset by a person with a reason."""
    node = site.token("node", "--node", "gpu-001")
    asked = {"node": "gpu-001", "remedy": "node.reboot", "seconds": 600}
    lease = site.post("/v1/leases", json.dumps(asked).encode(), node)["id"]
    listed = site.fleet("leases").stdout
    ended = site.fleet("leases", "end", lease, role="operator")
    again = site.fleet("leases", "end", lease, role="operator")
    reset = site.fleet("breaker", "reset", "--reason", "looked at all four", role="operator")
    shown = site.fleet("breaker").stdout
    assert (True, 0, 64, 0, True) == (
        "node.reboot" in listed and lease in listed,
        ended.returncode,
        again.returncode,
        reset.returncode,
        shown.startswith("the breaker is closed since ") and "looked at all four" in shown,
    )


def said(ended: CompletedProcess[str]) -> tuple[int, str, str, list[str]]:
    """Return status, standard output, the line of the error and of help."""
    return ended.returncode, ended.stdout, *(_lines(ended.stderr))


def _lines(text: str) -> tuple[str, list[str]]:
    first, *more = text.splitlines()
    return first, more


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
