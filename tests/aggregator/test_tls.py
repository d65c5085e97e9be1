"""TLS of the real process: own certificate, clients' certificates, exchange without a restart."""

import asyncio
import json
import signal
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen, run
from sys import executable

import pytest

from aggregator.errors import Mistake
from aggregator.settings import Tls
from aggregator.tls import Certificates
from tests.aggregator.test_crash import free_port

pytestmark = pytest.mark.tool("openssl")

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def certificate(folder: Path, name: str, *, days: int = 2) -> tuple[Path, Path]:
    """Make a certificate that signs itself, for 127.0.0.1."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    argv = ["openssl", "req", "-x509", *CURVE, "-days", str(days), "-subj", f"/CN={name}"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    run([*argv, *more], check=True, capture_output=True)
    return cert, key


@contextmanager
def served(folder: Path, port: int, settings: str) -> Iterator[Popen[bytes]]:
    """Run the server until it listens; its log is on its standard error."""
    config = folder / "aggregator.toml"
    config.write_text(f'listen = "127.0.0.1:{port}"\ndata = "{folder}/data"\n{settings}')
    argv = [executable, "-I", "-m", "aggregator", "serve", "--config", str(config)]
    with Popen(argv, stderr=PIPE) as process:
        try:
            assert "listening" == said(process)["event"]
            yield process
        finally:
            process.terminate()
        assert 0 == process.wait(10)


def said(process: Popen[bytes]) -> dict[str, str]:
    """Return the next line of the server's log."""
    assert process.stderr is not None
    line: dict[str, str] = json.loads(process.stderr.readline())
    return line


def shown(port: int, *, trust: Path, own: tuple[Path, Path] | None = None) -> str:
    """Return the name in the server's certificate after a request was answered over it."""

    async def ask() -> str:
        context = ssl.create_default_context(cafile=str(trust))
        if own is not None:
            context.load_cert_chain(*own)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        subject = writer.get_extra_info("peercert")["subject"]
        writer.close()
        return str(subject[0][0][1]) if answer.startswith(b"HTTP/1.1 200") else "not heard"

    return asyncio.run(ask())


def tls(cert: tuple[Path, Path], more: str = "") -> str:
    """Return the table of the settings."""
    return f'[tls]\ncertificate = "{cert[0]}"\nkey = "{cert[1]}"\n{more}'


@pytest.mark.serial
def test_exchanged(tmp_path: Path) -> None:
    """SIGHUP takes a new certificate; a broken one is named and the last good one goes on."""
    first, second = certificate(tmp_path, "one"), certificate(tmp_path, "two")
    mine = (tmp_path / "mine.pem", tmp_path / "mine.key")
    for to, made in zip(mine, first, strict=True):
        to.write_bytes(made.read_bytes())
    port = free_port()
    with served(tmp_path, port, tls(mine)) as process:
        names = [shown(port, trust=first[0])]
        for to, made in zip(mine, second, strict=True):
            to.write_bytes(made.read_bytes())
        process.send_signal(signal.SIGHUP)
        events = [said(process)["event"]]
        names.append(shown(port, trust=second[0]))
        mine[0].write_text("broken")
        process.send_signal(signal.SIGHUP)
        events.append(said(process)["event"])
        names.append(shown(port, trust=second[0]))
    refused = "reload refused, the last good settings go on"
    assert (["one", "two", "two"], ["reloaded", refused]) == (names, events)


@pytest.mark.serial
def test_mutual(tmp_path: Path) -> None:
    """With a client authority nobody is heard without a certificate of it."""
    server, client = certificate(tmp_path, "server"), certificate(tmp_path, "client")
    port = free_port()
    with served(tmp_path, port, tls(server, f'client_ca = "{client[0]}"')):
        known = shown(port, trust=server[0], own=client)
        try:
            unknown = shown(port, trust=server[0])
        except (ssl.SSLError, ConnectionError):
            unknown = "not heard"
    assert ("server", "not heard") == (known, unknown)


def test_changed(tmp_path: Path) -> None:
    """An exchanged file is seen by itself, and seen once."""
    one = certificate(tmp_path, "one")
    certificates = Certificates(Tls(certificate=one[0], key=one[1]))
    before = certificates.changed()
    certificate(tmp_path, "one")
    after = certificates.changed()
    certificates.reload()
    assert (False, True, False) == (before, after, certificates.changed())


def test_not_together(tmp_path: Path) -> None:
    """A key of another certificate is one line that names both."""
    one, two = certificate(tmp_path, "one"), certificate(tmp_path, "two")
    with pytest.raises(Mistake, match=r"one\.pem with .*two\.key"):
        Certificates(Tls(certificate=one[0], key=two[1]))
