"""What runs here, by the scheduler's and the runtimes' word: silence is never "no jobs"."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.host import held as open_devices
from collectors.host import processes
from collectors.jobs.running import (
    JobProcess,
    JobsOnNode,
    Source,
    collect,
    containers,
    listpids,
)
from collectors.node.recorded import Recorded
from tests.recording import write

ID = "3f2a1b0c9d8e" + "5b" * 26
OTHER = "77aa" * 16
HEADER = "PID      JOBID    STEPID   LOCALID GLOBALID\n"
LISTED = HEADER + (
    "218741   88123    0        0       24      \n"
    "218734   88123    batch    -       -       \n"
    "219002   88124    extern   0       0       \n"
)
PROCESSES = (
    JobProcess(pid=218741, job="88123", step="0"),
    JobProcess(pid=218734, job="88123", step="batch"),
    JobProcess(pid=219002, job="88124", step="extern"),
)
NO_STEPS = "No job steps exist on this node.\n"


def out(stdout: str, stderr: str = "", status: int = 0) -> Output:
    return Output(argv=("tool",), status=status, stdout=stdout, stderr=stderr)


@pytest.mark.parametrize(
    ("printed", "daemon", "expected"),
    [
        pytest.param(
            out(LISTED),
            True,
            Source(name="slurm", running=("88123", "88124"), processes=PROCESSES),
            id="jobs",
        ),
        pytest.param(
            out(LISTED),
            False,
            Source(name="slurm", running=("88123", "88124"), processes=PROCESSES),
            id="the steps answer for themselves while slurmd is away",
        ),
        pytest.param(out(HEADER, NO_STEPS, 1), True, Source(name="slurm"), id="no jobs"),
    ],
)
def test_slurm_lists_the_jobs_with_a_step_here(
    printed: Output,
    daemon: bool,  # noqa: FBT001 - a parameter of the cases
    expected: Source,
) -> None:
    """Its exit status 1 says that there is no step, and no more."""
    assert expected == listpids(printed, daemon=daemon)


@pytest.mark.parametrize(
    ("printed", "daemon", "cause"),
    [
        pytest.param(out(HEADER, NO_STEPS, 1), False, Cause.STALE, id="slurmd is down"),
        pytest.param(
            out(HEADER, f"scontrol: error: stepd_available: no such node\n{NO_STEPS}", 1),
            True,
            Cause.CRASHED,
            id="the node goes by another name",
        ),
        pytest.param(
            out("", "scontrol: fatal: no configuration source\n", 1),
            True,
            Cause.CRASHED,
            id="no configuration",
        ),
        pytest.param(out("", "", 0), True, Cause.GARBLED, id="silence"),
        pytest.param(out("hello\n", "", 0), True, Cause.GARBLED, id="another tool"),
    ],
)
def test_where_slurm_could_not_look_it_says_nothing(
    printed: Output,
    daemon: bool,  # noqa: FBT001 - a parameter of the cases
    cause: Cause,
) -> None:
    """It prints the same "no job steps" where it could not look: that is unknown."""
    got = listpids(printed, daemon=daemon)

    assert isinstance(got, Missing)
    assert ("slurm", cause) == (got.what, got.cause)


def test_containers_by_their_whole_ids() -> None:
    """One id a line; none is an answer too."""
    expected = (Source(name="docker", running=(ID, OTHER)), Source(name="docker"))

    assert expected == (
        containers("docker", out(f"{ID}\n{OTHER}\n")),
        containers("docker", out("")),
    )


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        (out("", "Cannot connect to the Docker daemon. Is it running?\n", 1), Cause.CRASHED),
        (out("", "permission denied while trying to connect to the socket\n", 1), Cause.DENIED),
        (out(f"{ID}\nEmulate Docker CLI using podman\n"), Cause.GARBLED),
        (out(f"{ID[:12]}\n"), Cause.GARBLED),
    ],
)
def test_a_runtime_that_fails_says_nothing(printed: Output, cause: Cause) -> None:
    """A daemon that is down runs no containers that we know of, and ends none either."""
    got = containers("docker", printed)

    assert isinstance(got, Missing)
    assert ("docker", cause) == (got.what, got.cause)


@given(st.text(), st.text(), st.integers(-9, 255), st.booleans())
def test_any_output_is_an_answer_or_missing(
    stdout: str,
    stderr: str,
    status: int,
    daemon: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    """No text of a tool raises, and none is read as ids that it is not."""
    printed = out(stdout, stderr, status)
    for got in (listpids(printed, daemon=daemon), containers("podman", printed)):
        assert isinstance(got, Missing | Source)


@given(st.lists(st.tuples(st.integers(1, 2**22), st.integers(1, 2**26)), unique=True, min_size=1))
def test_listed_processes_come_back_as_they_went_in(entries: list[tuple[int, int]]) -> None:
    """Each line is one process with its job."""
    table = HEADER + "".join(
        f"{pid:<8} {job:<8} {'batch':<8} -       -       \n" for pid, job in entries
    )
    got = listpids(out(table), daemon=True)

    assert isinstance(got, Source)
    assert entries == [(one.pid, int(one.job)) for one in got.processes]


def held(pid: int, cgroup: str, start: int = 9_000) -> dict[str, Any]:
    entry = {"pid": pid, "start_ticks": start, "uid": 1000, "comm": "python", "cgroup": cgroup}
    return entry | {"devices": ["/dev/nvidia0"], "fds": 9, "fd_limit": 1024}


def holders(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "holders", "answer": {"holders": entries, "unseen": 0}}


def command(*argv: str, stdout: str = "", stderr: str = "", status: int = 0) -> dict[str, Any]:
    return {"argv": argv, "stdout": stdout, "stderr": stderr, "status": status}


STAT = "900 ({}) S 1 900 900 0 -1 4194560 0 0 0 0 9 4 0 0 20 0 1 0 813"
SLURMD = {
    "/proc/uptime": "1400.21 90.00\n",
    "/proc/900/stat": STAT.format("slurmd"),
    "/dev/nvidia0": "",
}
JOB = "0::/system.slice/slurmstepd.scope/job_{}/step_0/user/task_0\n"
LISTPIDS = command("scontrol", "listpids", stdout=LISTED)


def look(folder: Path) -> JobsOnNode | Missing:
    node = Recorded(folder)

    async def run() -> JobsOnNode | Missing:
        table, holding = (
            await processes.collect(node, Wanted()),
            await open_devices.collect(node, Wanted()),
        )
        return await collect(node, Wanted(), table, holding)

    return asyncio.run(run())


def test_a_node_without_scheduler_or_runtime_asks_nobody(tmp_path: Path) -> None:
    """No tool is started where nothing claims a job and no daemon runs."""
    write(tmp_path, files=SLURMD | {"/proc/900/stat": STAT.format("sshd")})

    assert JobsOnNode() == look(tmp_path)


def test_owners_that_are_all_known_are_asked_for_once(tmp_path: Path) -> None:
    """Nothing is left to confirm."""
    write(
        tmp_path, files=SLURMD, answers=[holders(held(4, JOB.format(88123)))], commands=[LISTPIDS]
    )
    write(
        tmp_path / "at" / "0.5", commands=[command("scontrol", "listpids", stderr="no", status=1)]
    )

    expected = JobsOnNode(
        sources=(Source(name="slurm", running=("88123", "88124"), processes=PROCESSES),)
    )
    assert expected == look(tmp_path)


def test_one_that_outlives_both_answers_still_holds(tmp_path: Path) -> None:
    """Its job is in neither answer, and it has its GPU open before and after them."""
    entries = (held(4, JOB.format(88123)), held(5, JOB.format(77001)))
    write(tmp_path, files=SLURMD, answers=[holders(*entries)], commands=[LISTPIDS])
    got = look(tmp_path)

    assert isinstance(got, JobsOnNode)
    assert (4, 5) == got.still_holding


def test_one_that_ends_with_its_job_does_not(tmp_path: Path) -> None:
    """A job that ended while we looked takes its processes along; a reused pid is another."""
    entries = (held(4, JOB.format(88123)), held(5, JOB.format(77001)), held(6, JOB.format(77001)))
    write(tmp_path, files=SLURMD, answers=[holders(*entries)], commands=[LISTPIDS])
    later = holders(entries[0], held(6, JOB.format(88123), start=9_999))
    write(tmp_path / "at" / "0.5", answers=[later])
    got = look(tmp_path)

    assert isinstance(got, JobsOnNode)
    assert (4,) == got.still_holding


def test_a_job_in_either_answer_runs(tmp_path: Path) -> None:
    """One that began between the two looks is in the second alone."""
    write(
        tmp_path,
        files=SLURMD,
        answers=[holders(held(4, JOB.format(88123)))],
        commands=[command("scontrol", "listpids", stdout=HEADER, stderr=NO_STEPS, status=1)],
    )
    write(tmp_path / "at" / "0.5", commands=[LISTPIDS])
    got = look(tmp_path)

    assert isinstance(got, JobsOnNode)
    assert [("88123", "88124")] == [source.running for source in got.sources]


def test_a_claimed_runtime_that_is_not_installed_is_unknown(tmp_path: Path) -> None:
    """A pod's process, and nobody to ask about it."""
    pod = f"5:devices:/kubepods/besteffort/pod5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11/{ID}\n"
    write(
        tmp_path,
        files=SLURMD | {"/proc/900/stat": STAT.format("sshd")},
        answers=[holders(held(4, pod))],
        tools=["crictl"],
    )
    got = look(tmp_path)

    assert isinstance(got, JobsOnNode)
    expected = [Missing(what="kubernetes", cause=Cause.NO_TOOL, detail="crictl is not installed")]
    assert expected == list(got.silent)
