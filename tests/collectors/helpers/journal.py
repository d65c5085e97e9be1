"""Journal files for the real journalctl, made of entries that a test states."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from collectors.helpers.children import kernel

REMOTE = "/lib/systemd/systemd-journal-remote"
BEFORE = "1c9e3f522b6e4a578d4f0c8a5a3f7e10"
KERNEL = {"_TRANSPORT": "kernel", "SYSLOG_FACILITY": "0", "PRIORITY": "4"}

Entry = tuple[str, float, Mapping[str, str]]


def export(entries: Iterable[Entry]) -> str:
    """Return entries (boot id, seconds of the epoch, fields) in the journal's export format."""
    parts = []
    for number, (boot, seconds, fields) in enumerate(entries, start=1):
        lines = {
            "__CURSOR": f"s=1;i={number}",
            "__REALTIME_TIMESTAMP": str(round(seconds * 1e6)),
            "__MONOTONIC_TIMESTAMP": str(number * 1_000_000),
            "_BOOT_ID": boot,
            "_MACHINE_ID": "0123456789abcdef0123456789abcdef",
            **fields,
        }
        parts.append("".join(f"{name}={value}\n" for name, value in lines.items()))
    return "\n".join(parts) + "\n"


def keep(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: Iterable[Entry]) -> None:
    """Let the reader's journalctl read these entries alone."""
    (folder / "in.export").write_text(export(entries))
    subprocess.run(
        (REMOTE, "-o", folder / "kept.journal", folder / "in.export"),
        check=True,
        capture_output=True,
    )
    wrapper = folder / "journalctl"
    wrapper.write_text(f'#!/bin/sh\nexec journalctl "--directory={folder}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(kernel, "JOURNALCTL", (str(wrapper),))
