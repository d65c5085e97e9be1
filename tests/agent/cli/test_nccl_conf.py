"""`gpudiag remediate --nccl-conf`: a new file of one job, never one that NCCL finds by itself."""

from pathlib import Path

import pytest

from agent.cli.errors import Mistake
from agent.cli.remediate import command
from tests.nodes.replay import NODES


def asked(path: str, *words: str, node: str = "nccl-docker0") -> int:
    argv = ["--replay", str(NODES / node), "--nccl-conf", path, *words]
    status = command.main(argv, standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This node's own names, as NCCL reads them, and the line that has the job read them."""
    path = tmp_path / "job.conf"
    status = asked(str(path))
    first, second = path.read_text().splitlines()
    said = capsys.readouterr().out
    expected = (0, "NCCL_SOCKET_IFNAME==ib0", True, True)
    told = (status, first, second.startswith("NCCL_IB_HCA==mlx5_0:1,"), f"CONF_FILE={path}" in said)
    assert expected == told


@pytest.mark.parametrize("name", ["nccl.conf", ".nccl.conf"])
def test_no_file_of_more_than_one_job(tmp_path: Path, name: str) -> None:
    """NCCL would read it in each job of the node or of the user."""
    with pytest.raises(Mistake) as mistake:
        asked(str(tmp_path / name))
    assert ("would hold for more than one job" in mistake.value.what, False) == (
        True,
        (tmp_path / name).exists(),
    )


def test_not_below_etc(tmp_path: Path) -> None:
    """Nor by a way around."""
    (tmp_path / "way").symlink_to("/etc")
    with pytest.raises(Mistake) as mistake:
        asked(str(tmp_path / "way" / "gpudiag-test.conf"))
    assert "would hold for more than one job" in mistake.value.what


def test_none_is_replaced(tmp_path: Path) -> None:
    """What is there may be somebody's work; a link is not followed."""
    path, link = tmp_path / "job.conf", tmp_path / "link.conf"
    path.write_text("mine\n")
    link.symlink_to(tmp_path / "elsewhere")
    for one in (path, link):
        with pytest.raises(Mistake):
            asked(str(one))
    assert ("mine\n", False) == (path.read_text(), (tmp_path / "elsewhere").exists())


def test_nothing_that_helps(tmp_path: Path) -> None:
    """A broken GPU is not talked away by a variable."""
    path = tmp_path / "job.conf"
    with pytest.raises(Mistake) as mistake:
        asked(str(path), node="h100-gpu-lost")
    assert ("no incident here is helped by a setting of NCCL's", False) == (
        mistake.value.what,
        path.exists(),
    )


def test_alone(tmp_path: Path) -> None:
    """It does not go with what acts or prints."""
    with pytest.raises(Mistake) as mistake:
        asked(str(tmp_path / "job.conf"), "--json")
    assert "--nccl-conf writes a file and does nothing else" == mistake.value.what
