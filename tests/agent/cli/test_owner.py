"""What root's command keeps in the agent's folder is the agent's, and leads root nowhere."""

import os
from pathlib import Path

import pytest

from agent.cli.owner import as_owner
from remediations.act.evidence import Bundles

pytestmark = pytest.mark.root
AGENT = 64_123


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(0o755)
    folder = tmp_path / "gpudiag"
    folder.mkdir(mode=0o700)
    os.chown(folder, AGENT, AGENT)
    return folder


def test_what_is_kept_is_the_agents(folder: Path) -> None:
    """Else the agent could save no evidence afterwards, and would never act again."""
    bundles = Bundles(folder / "bundles", leave=0)
    as_owner(folder, lambda: bundles.save("one", [("x", b"x")]))
    owners = {path.stat().st_uid for path in (folder / "bundles", *(folder / "bundles").iterdir())}

    assert {AGENT} == owners


def test_a_link_leads_root_nowhere(folder: Path, tmp_path: Path) -> None:
    """A captured agent has its folder be another: root writes and removes nothing there."""
    backups = tmp_path / "backups"
    backups.mkdir(mode=0o700)
    for number in range(3):
        (backups / f"{number}.tar.gz").touch()
    (folder / "bundles").symlink_to(backups)
    bundles = Bundles(folder / "bundles", leave=0, kept=1)
    with pytest.raises(OSError, match="Permission denied"):
        as_owner(folder, lambda: bundles.save("one", [("x", b"x")]))

    assert ["0.tar.gz", "1.tar.gz", "2.tar.gz"] == sorted(path.name for path in backups.iterdir())


def test_where_nothing_is_it_is_made(tmp_path: Path) -> None:
    """On a node without an agent the folder is made by who runs the command."""
    as_owner(tmp_path / "new", (tmp_path / "new").mkdir)

    assert os.geteuid() == (tmp_path / "new").stat().st_uid
