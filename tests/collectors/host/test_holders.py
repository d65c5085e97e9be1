"""Holders of a GPU, each with its job, container and rank."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.owner import Held, Owner
from collectors.facts.wanted import Wanted
from collectors.host import held as open_devices
from collectors.host.holders import GpuHolders, Holder, collect, join
from tests.recording import recorded

NODES = {"/dev/nvidia0": "", "/dev/nvidia1": "", "/dev/nvidiactl": ""}


def held(pid: int, cgroup: str, *devices: str) -> dict[str, Any]:
    """Return one process of the reader's answer."""
    return {
        "pid": pid,
        "start_ticks": 125_050,
        "uid": 1000,
        "comm": "python",
        "cgroup": cgroup,
        "devices": devices,
        "fds": 90,
        "fd_limit": 1024,
    }


def ask(tmp_path: Path, files: dict[str, str], *answers: dict[str, Any]) -> GpuHolders | Missing:
    node = recorded(tmp_path, files=files, answers=answers)

    async def look() -> GpuHolders | Missing:
        return await collect(node, Wanted(), await open_devices.collect(node, Wanted()))

    return asyncio.run(look())


def holders(*entries: dict[str, Any], unseen: int = 0) -> dict[str, Any]:
    return {"kind": "holders", "answer": {"holders": entries, "unseen": unseen}}


def environ(pids: list[int], answer: Any = None, **rest: Any) -> dict[str, Any]:
    return {"kind": "environ", "args": {"pids": pids}, "answer": answer, **rest}


def test_a_node_without_gpu_asks_nobody(tmp_path: Path) -> None:
    """Without a device node there is nothing to hold, and no right is needed to know it."""
    assert GpuHolders(devices=0) == ask(tmp_path, {})


def test_the_cgroup_names_the_job_and_the_environment_the_rank(tmp_path: Path) -> None:
    """The control group's word goes before what a process says of itself."""
    cgroup = "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_3\n"
    said = {"RANK": "3", "SLURM_JOB_ID": "1"}
    got = ask(
        tmp_path,
        NODES,
        holders(held(4100, cgroup, "/dev/nvidia1", "/dev/nvidiactl"), unseen=2),
        environ([4100], {"4100": said}),
    )

    expected = GpuHolders(
        devices=2,
        unseen=2,
        holders=(
            Holder(
                pid=4100,
                comm="python",
                start_s=1250.5,
                uid=1000,
                minors=(1,),
                owner=Owner(kind="slurm", job="88123", step="0"),
                job="88123",
                rank=3,
                fds=90,
                fd_limit=1024,
                environ=said,
            ),
        ),
    )
    assert expected == got


def test_without_a_cgroup_the_environment_names_the_job(tmp_path: Path) -> None:
    """It is marked as the process's own word."""
    got = ask(
        tmp_path,
        NODES,
        holders(held(4100, "0::/system.slice/slurmd.service\n", "/dev/nvidia0")),
        environ([4100], {"4100": {"SLURM_JOB_ID": "88123"}}),
    )

    assert isinstance(got, GpuHolders)
    assert [("88123", True)] == [(one.job, one.job_by_environ) for one in got.holders]


def test_an_environment_that_hangs_costs_the_environment_alone(tmp_path: Path) -> None:
    """A stuck process keeps its memory lock; its cgroup is still known."""
    cgroup = "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_3\n"
    got = ask(
        tmp_path,
        NODES,
        holders(held(4100, cgroup, "/dev/nvidia1")),
        environ([4100], missing={"cause": "timeout", "detail": "no answer in 3 s"}),
    )

    assert isinstance(got, GpuHolders)
    expected = Missing(what="environ", cause=Cause.TIMEOUT, detail="no answer in 3 s")
    assert (["88123"], expected) == ([one.job for one in got.holders], got.environ_missing)


def test_without_rights_the_holders_are_missing(tmp_path: Path) -> None:
    """Where there is a GPU and nobody may look, that is unknown, and names the verb."""
    denied = {"cause": "denied", "detail": "only root sees this", "verb": "holders"}
    got = ask(tmp_path, NODES, {"kind": "holders", "missing": denied})

    expected = Missing(
        what="holders", cause=Cause.DENIED, detail="only root sees this", verb="holders"
    )
    assert expected == got


def test_an_answer_of_another_shape_is_garbled(tmp_path: Path) -> None:
    """What a newer or broken reader says is not guessed at."""
    got = ask(tmp_path, NODES, {"kind": "holders", "answer": {"holders": [{"pid": "x"}]}})

    assert isinstance(got, Missing)
    assert got.cause is Cause.GARBLED


@given(st.text(), st.dictionaries(st.sampled_from(["RANK", "SLURM_JOB_ID"]), st.text()))
def test_no_environment_breaks_the_join(device: str, said: dict[str, str]) -> None:
    """Users write their environment: a rank or job that is no number is none."""
    entry = Held(
        pid=1,
        start_ticks=0,
        uid=None,
        comm="x",
        cgroup="",
        devices=(f"/dev/nvidia{device}",),
        fds=1,
    )
    got = join(entry, said)

    assert got.job is None or got.job.isdecimal()
