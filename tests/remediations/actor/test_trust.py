"""The policy as the actor trusts it."""

import os
from pathlib import Path

import pytest

from collectors.helpers.children.loop import Refused
from remediations.actor import trust
from remediations.policy import Policy

pytestmark = pytest.mark.root
TEXT = '[mode]\n"slurm.drain" = "act"\n'


def refused(path: Path) -> str:
    with pytest.raises(Refused) as no:
        trust.policy(str(path))
    return no.value.detail


def test_absent(tmp_path: Path) -> None:
    """Without a file nothing may act."""
    assert Policy() == trust.policy(str(tmp_path / "none"))


def test_roots(tmp_path: Path) -> None:
    """A file of root's that only root can write holds."""
    path = tmp_path / "acting.toml"
    path.write_text(TEXT)
    path.chmod(0o644)
    assert "act" == trust.policy(str(path)).of("slurm.drain")


@pytest.mark.parametrize(("owner", "mode"), [(4321, 0o600), (0, 0o664), (0, 0o646)])
def test_of_others(tmp_path: Path, owner: int, mode: int) -> None:
    """What another owns or can write is refused, with what to do."""
    path = tmp_path / "acting.toml"
    path.write_text(TEXT)
    path.chmod(mode)
    os.chown(path, owner, 0)
    assert f"{path} is refused: chown root {path}; chmod go-w {path}" == refused(path)


def test_link(tmp_path: Path) -> None:
    """A link to a file of root's is no file of root's."""
    (tmp_path / "real").write_text(TEXT)
    link = tmp_path / "acting.toml"
    link.symlink_to(tmp_path / "real")
    assert refused(link).endswith("it must be a file of root")


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"mode = 1\n", b"x" * 70_000, b'[mode]\n"a" = "act"\n']
)
def test_rubbish(tmp_path: Path, text: bytes) -> None:
    """What cannot be read lets nothing act, and the line names the file."""
    path = tmp_path / "acting.toml"
    path.write_bytes(text)
    path.chmod(0o600)
    assert refused(path).startswith(str(path))


def test_fifo(tmp_path: Path) -> None:
    """A pipe in its place is refused at once, and never waited for."""
    path = tmp_path / "acting.toml"
    os.mkfifo(path, 0o600)
    assert f"{path} is refused: chown root {path}; chmod go-w {path}" == refused(path)
