"""An aggregator for tests of `gpudiag fleet`, and the command as somebody calls it."""

import json
import os
import sys
import urllib.request
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any

from aggregator.wire import Report
from tests.aggregator.reports import lines


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


def said(ended: CompletedProcess[str]) -> tuple[int, str, str, list[str]]:
    """Return status, standard output, the line of the error and of help."""
    return ended.returncode, ended.stdout, *(_lines(ended.stderr))


def _lines(text: str) -> tuple[str, list[str]]:
    first, *more = text.splitlines()
    return first, more
