"""A real aggregator beside real agents: served, asked, steered."""

import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import run
from typing import Any

from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import served


class Served:
    """Where it listens, and the folder of its database; `context` is for TLS."""

    def __init__(self, folder: Path, url: str, context: ssl.SSLContext | None = None) -> None:
        self.folder = folder
        self.url = url
        self.context = context

    def token(self, role: str) -> str:
        """Make a credential."""
        argv = [sys.executable, "-I", "-m", "aggregator", "token", "create", "--role", role]
        argv += ["--data", str(self.folder / "data")]
        return run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    def send(self, method: str, path: str, token: str, body: Any = None) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        asked = urllib.request.Request(  # noqa: S310 - a loopback address
            self.url + path,
            method=method,
            headers={"Authorization": f"Bearer {token}"},
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(asked, timeout=20, context=self.context) as answer:  # noqa: S310 - same
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()

    def get(self, path: str, token: str) -> Any:
        """Return a document."""
        return json.loads(self.send("GET", path, token)[1])


@contextmanager
def aggregator(
    folder: Path, settings: str = "", context: ssl.SSLContext | None = None
) -> Iterator[Served]:
    """Serve for as long as the block."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    with served(folder, port, settings):
        yield Served(folder, f"http{'s' if context else ''}://127.0.0.1:{port}", context)


def reporting(where: Served, folder: Path, *more: str) -> str:
    """Return an agent's settings with which it enrols there; its join token lies in *folder*."""
    (folder / "join").write_text(where.token("join"))
    lines = ("[agent]", 'metrics = ""', "walk_s = 10", "[report]", f'aggregator = "{where.url}"')
    return "\n".join((*lines, f'join_token = "{folder / "join"}"', *more, ""))
