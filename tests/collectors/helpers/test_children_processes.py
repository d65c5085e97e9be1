"""Who has a GPU open, asked of this machine: a device of that name in a namespace of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.helpers.children import processes
from collectors.helpers.children.loop import Refused

# A /dev of its own, so that this machine's gets no such file; as a container has it.
HOLD = """
mount -t tmpfs none /dev
touch /dev/nvidia3 /dev/nvidiactl /dev/nvidia-caps
exec 6</dev/nvidia3 7</dev/nvidia3 8</dev/nvidiactl 9</dev/nvidia-caps
echo held
read _ || true
"""
ENVIRON = {
    "PATH": os.defpath,
    "RANK": "3",
    "NCCL_DEBUG": "INFO",
    "NCCL_TOPO_FILE": "x" * 400,
    "SLURM_JOB_ID": "88123",
    "AWS_SECRET_ACCESS_KEY": "wrench",
    "NCCL_lower": "no",
}


@pytest.fixture
def holder() -> Iterator[int]:
    """Return the pid of a process that has /dev/nvidia3 open."""
    argv = ("unshare", "--mount", "sh", "-euc", HOLD)
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRON, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid


@pytest.mark.root
@pytest.mark.tool("unshare")
def test_a_holder_is_seen_through_its_open_files(holder: int) -> None:
    """Each device is named once, with what the kernel says of the process beside it."""
    (found,) = (one for one in processes.holders()["holders"] if one["pid"] == holder)
    proc = Path(f"/proc/{holder}")
    stat = (proc / "stat").read_text().rpartition(") ")[2].split()

    expected = {
        "pid": holder,
        "start_ticks": int(stat[19]),
        "uid": 0,
        "comm": "sh",
        "cgroup": (proc / "cgroup").read_text(),
        "devices": ["/dev/nvidia3", "/dev/nvidiactl"],
        "fds": len(list((proc / "fd").iterdir())),
        "fd_limit": found["fd_limit"],
    }
    assert expected == found
    assert f" {found['fd_limit']} " in (proc / "limits").read_text()


@pytest.mark.root
@pytest.mark.tool("unshare")
def test_only_allowed_names_of_the_environment_leave(holder: int) -> None:
    """A secret stays where it is, an odd name too, and a long value is cut."""
    expected = {
        "RANK": "3",
        "NCCL_DEBUG": "INFO",
        "NCCL_TOPO_FILE": "x" * 256,
        "SLURM_JOB_ID": "88123",
    }

    assert {str(holder): expected} == processes.environ([holder])


def test_a_process_that_is_gone_is_left_out() -> None:
    """Between the question and the look a process may end: that is no error."""
    with subprocess.Popen(["/bin/true"]) as ended:
        ended.wait()

    answers = (
        processes.environ([ended.pid]),
        processes.open_files([ended.pid]),
        processes.blocked([ended.pid]),
    )
    assert ({}, {}, {str(ended.pid): {"wchan": None, "stack": []}}) == answers


def test_files_open_for_writing_are_listed(tmp_path: Path) -> None:
    """What is open for reading only, devices, pipes and sockets are left out; odd names shown."""
    odd = os.fsdecode(bytes(tmp_path) + b"/step\xff.pt")
    with (
        Path(odd).open("w"),
        (tmp_path / "log").open("a"),
        (tmp_path / "both").open("w+"),
        Path(__file__).open(),
        Path("/dev/null").open("w"),
    ):
        found = processes.open_files([os.getpid()])[str(os.getpid())]

    expected = [f"{tmp_path}/{name}" for name in ("both", "log", "step\\xff.pt")]
    assert expected == [path for path in found if path.startswith(str(tmp_path))]


@pytest.mark.root
def test_where_a_sleeping_process_waits() -> None:
    """The kernel names the function, and root sees those above it."""
    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper:
        try:
            while not (place := processes.blocked([sleeper.pid])[str(sleeper.pid)])["wchan"]:
                pass  # It has not gone to sleep yet.
        finally:
            sleeper.kill()

    assert any("nanosleep" in frame for frame in place["stack"])


@pytest.mark.parametrize("pids", [[0], [-1], ["1"], [True], [1 << 22], [1] * 513])
def test_what_is_no_pid_is_refused(pids: list[int]) -> None:
    """The caller is trusted with numbers alone, and with few of them."""
    with pytest.raises(Refused) as refused:
        processes.environ(pids)
    assert refused.value.cause == "garbled"


def test_another_root_is_read_instead(tmp_path: Path) -> None:
    """Under --root the links of a copied /proc are read, not this machine's."""
    proc = tmp_path / "proc" / "4100"
    (proc / "fd").mkdir(parents=True)
    (proc / "fd" / "7").symlink_to("/dev/nvidia0 (deleted)")
    rest = " ".join(["0"] * 15)
    (proc / "stat").write_text(f"4100 (pt) x) S 1 1 1 {rest} 1250 0 0")
    (proc / "status").write_text("Name:\tpt\nUid:\t1000\t1000\t1000\t1000\n")
    (proc / "cgroup").write_text("0::/\n")
    (proc / "limits").write_text("Max open files            1024                 4096  files\n")

    expected = {
        "holders": [
            {
                "pid": 4100,
                "start_ticks": 1250,
                "uid": 1000,
                "comm": "pt) x",
                "cgroup": "0::/\n",
                "devices": ["/dev/nvidia0"],
                "fds": 1,
                "fd_limit": 1024,
            }
        ],
        "unseen": 0,
    }
    assert expected == processes.holders(str(tmp_path))


@pytest.mark.root
@pytest.mark.tool("setpriv")
def test_without_rights_the_unseen_are_counted() -> None:
    """What may not be looked at is told by number, and is not "nobody"."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from collectors.helpers.children import processes; print(processes.holders()['unseen'])"
    )
    root = str(Path(processes.__file__).parents[3])
    argv = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run(
        (*argv, sys.executable, "-c", program, root), capture_output=True, text=True, check=False
    )
    if "ermission denied" in done.stderr:
        pytest.skip("nobody may not read this checkout")

    assert int(done.stdout) > 0
