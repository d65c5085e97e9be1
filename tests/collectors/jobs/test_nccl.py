"""How ranks are set up: their environment before the files that NCCL reads."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.nccl import (
    Conf,
    ConfFile,
    NcclSettings,
    RankSettings,
    Setting,
    _confs,
    collect,
    joined,
)
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.node.live import Live
from tests.recording import recorded

RANK = Rank(
    pid=4120,
    comm="python",
    state="R",
    start_s=90.0,
    rank=8,
    world=64,
    job="88123",
    environ={"RANK": "8", "NCCL_DEBUG": "WARN"},
)
FILES = [
    {"path": "~/.nccl.conf", "settings": {"NCCL_DEBUG": "TRACE", "NCCL_IB_HCA": "mlx5_0"}},
    {"path": "/etc/nccl.conf", "settings": {"NCCL_IB_HCA": "mlx5", "NCCL_ALGO": "Ring"}},
]


def answered(answer: Any, **rest: Any) -> dict[str, Any]:
    """Return the recorded answer of the reader."""
    return {"kind": "nccl_conf", "args": {"pids": [4120]}, "answer": answer, **rest}


def seen(tmp_path: Path, *answers: dict[str, Any]) -> NcclSettings | Missing:
    """Return what the collector says of one rank."""
    node = recorded(tmp_path, answers=answers, kinds=["nccl_conf"])
    return asyncio.run(collect(node, Wanted(), LocalRanks(ranks=(RANK,))))


def test_what_is_set_first_stays(tmp_path: Path) -> None:
    """The environment goes before the user's file, and that before the node's; each is named."""
    found = seen(tmp_path, answered({"4120": {"host_network": True, "files": FILES}}))

    expected = RankSettings(
        pid=4120,
        job="88123",
        rank=8,
        world=64,
        host_network=True,
        settings={
            "RANK": Setting(value="8"),
            "NCCL_DEBUG": Setting(value="WARN"),
            "NCCL_IB_HCA": Setting(value="mlx5_0", source="~/.nccl.conf"),
            "NCCL_ALGO": Setting(value="Ring", source="/etc/nccl.conf"),
        },
    )
    assert NcclSettings(ranks=(expected,)) == found


def test_a_file_that_is_not_read_is_told(tmp_path: Path) -> None:
    """What the reader refuses to read may say anything: the environment is not all."""
    files = [{"path": "~/.nccl.conf", "refused": "it belongs to another user"}]
    found = seen(tmp_path, answered({"4120": {"host_network": True, "files": files}}))

    assert isinstance(found, NcclSettings)
    expected = Missing(
        what="~/.nccl.conf",
        cause=Cause.DENIED,
        detail="~/.nccl.conf: it belongs to another user",
    )
    assert expected == found.unread


def test_a_home_that_does_not_answer_leaves_the_environment(tmp_path: Path) -> None:
    """The environment is known, and that the files are not is said."""
    late = {"cause": "timeout", "detail": "no answer in 3 s"}
    found = seen(tmp_path, answered(None, missing=late))

    assert isinstance(found, NcclSettings)
    expected = Missing(what="nccl_conf", cause=Cause.TIMEOUT, detail="no answer in 3 s")
    assert (expected, {"RANK": "8", "NCCL_DEBUG": "WARN"}) == (
        found.unread,
        found.ranks[0].values(),
    )


def test_without_ranks_nobody_is_asked(tmp_path: Path) -> None:
    """No rank, no question; ranks that cannot be seen stay unseen."""
    node = recorded(tmp_path, kinds=[])
    unseen = Missing(what="environ", cause=Cause.DENIED, detail="only root sees this")

    assert [NcclSettings(), unseen] == [
        asyncio.run(collect(node, Wanted(), told)) for told in (LocalRanks(), unseen)
    ]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[int]:
    """Return the pid of a process that names a file of settings in its environment."""
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_IB_HCA=mlx5\nNCCL_DEBUG=INFO\n")
    argv = (sys.executable, "-c", "import sys; sys.stdin.read()")
    environ = {"NCCL_DEBUG": "WARN", "NCCL_CONF_FILE": str(conf)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environ) as process:
        yield process.pid


@pytest.mark.root
async def test_a_rank_of_this_machine(started: int) -> None:
    """The reader of this machine reads the file that a real process names."""
    rank = msgspec.structs.replace(RANK, pid=started, environ={"NCCL_DEBUG": "WARN"})
    node = Live()
    try:
        found = await collect(node, Wanted(), LocalRanks(ranks=(rank,)))
    finally:
        await node.close()

    settings = {
        "NCCL_DEBUG": Setting(value="WARN"),
        "NCCL_IB_HCA": Setting(value="mlx5", source="$NCCL_CONF_FILE"),
    }
    expected = RankSettings(
        pid=started, job="88123", rank=8, world=64, host_network=True, settings=settings
    )
    assert NcclSettings(ranks=(expected,)) == found


@given(st.dictionaries(st.text(max_size=6), st.recursive(st.text(), st.lists, max_leaves=4)))
def test_no_answer_makes_the_collector_raise(answer: dict[str, Any]) -> None:
    """What is no answer of the reader's is told as not understood."""
    assert isinstance(_confs(answer), dict | Missing)


@given(st.dictionaries(st.sampled_from(["RANK", "NCCL_DEBUG", "NCCL_ALGO"]), st.text(max_size=9)))
def test_no_file_changes_the_environment(settings: dict[str, str]) -> None:
    """Whatever a file holds, what the rank was started with stays, and the rest is added."""
    conf = Conf(host_network=True, files=(ConfFile(path="/etc/nccl.conf", settings=settings),))

    assert settings | dict(RANK.environ) == joined(RANK, conf).values()
