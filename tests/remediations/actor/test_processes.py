"""An orphan is ended by its own identity: real processes of a high uid, in a real control group."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.helpers.children import tools
from remediations.actor import controller, processes
from remediations.actor.registry import Refused, Turn
from remediations.actor.run import Unsure
from remediations.policy import Policy
from tests.remediations.actor.holding import ENDS, STAYS, holding

pytestmark = [pytest.mark.root, pytest.mark.serial]

UID = 20_001
GROUP = "slurm_gpudiag_orphan/uid_20001/job_88123"
NOTHING = "#!/bin/sh\necho 'PID      JOBID    STEPID   LOCALID GLOBALID'\n"
OVER = "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n"
Says = Callable[..., None]


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Let Slurm say that the job is over, or what a test wants it to say."""
    monkeypatch.setattr(controller, "JITTER_S", 0.0)
    monkeypatch.setattr(processes, "factor", 0.02)

    def say(**tool: str) -> None:
        given = {"scontrol": NOTHING, "squeue": OVER, "crictl": "#!/bin/sh\n"} | tool
        for name, script in given.items():
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)
        monkeypatch.setattr(tools, "given", {name: str(tmp_path / name) for name in given})

    say()
    return say


def identity(pid: int, **changed: Any) -> dict[str, Any]:
    there = processes.look(pid)
    seen = {"start_ticks": there.start_ticks, "uid": UID, "cgroup": processes.digest(there.cgroup)}
    return {"pid": pid, **seen, **changed}


def end(tmp_path: Path, args: dict[str, Any]) -> str:
    turn = Turn("a1", "process.end_orphan", f"process {args['pid']}", Policy(), tmp_path, 0, 60.0)
    return processes.end_process(turn, **args)


def refused(tmp_path: Path, args: dict[str, Any]) -> tuple[str, bool]:
    """Return why, and whether it still runs."""
    with pytest.raises(Refused) as no:
        end(tmp_path, args)
    there = processes.process_ended(tmp_path, **args)
    return no.value.detail, there


@pytest.mark.parametrize(("then", "how"), [(ENDS, "by TERM"), (STAYS, "by KILL, 1 s after TERM")])
def test_an_orphan_is_ended(says: Says, tmp_path: Path, then: str, how: str) -> None:
    """By TERM where it heeds it, else by KILL after the grace; and then the node says so."""
    del says
    with holding(UID, GROUP, then) as pid:
        args = identity(pid)
        before = processes.process_ended(tmp_path, **args)
        said = end(tmp_path, args)
        after = processes.process_ended(tmp_path, **args)
    assert (False, f"it ended {how}", True) == (before, said, after)


def test_only_the_very_process(says: Says, tmp_path: Path) -> None:
    """Another start time, user or control group is another process; it runs on."""
    del says
    with holding(UID, GROUP) as pid:
        ticks = processes.look(pid).start_ticks
        asked = [
            refused(tmp_path, identity(pid, uid=UID + 1)),
            refused(tmp_path, identity(pid, cgroup=processes.digest("4:freezer:/elsewhere\n"))),
            refused(tmp_path, identity(pid, start_ticks=ticks + 1)),
            refused(tmp_path, identity(pid, uid=999)),
        ]
        runs = processes.process_ended(tmp_path, **identity(pid))
    assert (
        [
            f"pid {pid} runs as {UID}, and not as {UID + 1} alone",
            f"pid {pid} was moved to another control group",
            f"pid {pid} is another process by now",
            "uid 999 is no user's: only those of 1000 and above",
        ],
        False,
    ) == ([why for why, _ in asked], runs)


def test_root_s_is_never_ended(says: Says, tmp_path: Path) -> None:
    """Nor one that runs as root though it says another uid: all four have to be the user's."""
    del says
    with holding(0, GROUP) as pid:
        why, ended = refused(tmp_path, identity(pid))
    assert (f"pid {pid} runs as 0, and not as {UID} alone", False) == (why, ended)


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (
            {"scontrol": NOTHING + "echo '7777  88123    0        0       0'\n"},
            "job 88123 still has a step on this node",
        ),
        (
            {"squeue": "#!/bin/sh\necho '88123 COMPLETING 1 1'\n"},
            "job 88123 is COMPLETING, by the controller",
        ),
        ({"squeue": "#!/bin/sh\necho away >&2\nexit 1\n"}, "squeue: away"),
        ({"scontrol": "#!/bin/sh\nexit 1\n"}, "scontrol listpids: no table"),
    ],
)
def test_the_scheduler_is_asked_again(
    says: Says, tmp_path: Path, tool: dict[str, str], why: str
) -> None:
    """A job that has something here, or a scheduler that says nothing, leaves it alone."""
    says(**tool)
    with holding(UID, GROUP) as pid:
        told, ended = refused(tmp_path, identity(pid))
    assert (why, False) == (told, ended)


def test_a_container_that_runs(says: Says, tmp_path: Path) -> None:
    """Its runtime is asked; one that is over is no owner any more."""
    container = "5b" * 32
    group = f"kubepods/pod5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11/{container}"
    says(crictl=f"#!/bin/sh\necho {container}\n")
    with holding(UID, group) as pid:
        why, _ = refused(tmp_path, identity(pid))
        says()
        said = end(tmp_path, identity(pid))
    assert (f"container {container[:12]} runs, by crictl", "it ended by TERM") == (why, said)


def test_one_that_nobody_owned(says: Says, tmp_path: Path) -> None:
    """A session's process is a person's, whatever the finding says."""
    del says
    with holding(UID) as pid:
        why, ended = refused(tmp_path, identity(pid))
    assert (True, False) == (why.startswith("no job and no container owned"), ended)


def test_state_d(says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No signal ends one that waits in the kernel, so none is sent."""
    del says
    look = processes.look
    with holding(UID, GROUP) as pid:
        args = identity(pid)
        monkeypatch.setattr(processes, "look", lambda p: look(p)._replace(state="D"))
        why, ended = refused(tmp_path, args)
    assert (f"pid {pid} waits in the kernel (state D): no signal ends it", False) == (why, ended)


def test_one_that_is_gone(says: Says, tmp_path: Path) -> None:
    """It is as it should be, and nothing is done."""
    del says
    with holding(UID, GROUP) as pid:
        args = identity(pid)
    assert ("it was gone already", True) == (
        end(tmp_path, args),
        processes.process_ended(tmp_path, **args),
    )


def test_one_that_no_kill_ends(says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that nobody knows, and the gate has it settled before anything else is done."""
    del says
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *_: None)
    with holding(UID, GROUP) as pid, pytest.raises(Unsure) as unsure:
        end(tmp_path, identity(pid))
    assert "killed, and still in the kernel" in str(unsure.value)


def test_handles_are_closed(says: Says, tmp_path: Path) -> None:
    """Whatever comes of it."""
    del says
    before = len(list(Path("/proc/self/fd").iterdir()))
    with holding(UID, GROUP) as pid:
        refused(tmp_path, identity(pid, uid=UID + 1))
        end(tmp_path, identity(pid))
    assert before == len(list(Path("/proc/self/fd").iterdir()))
