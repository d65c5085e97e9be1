"""An orphan by the actor itself: its gate, its journal, and a real process that ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.subject import Subject
from remediations.act.hand import Done, Objection
from remediations.actor import processes
from remediations.plan.actions import Holder
from remediations.remedies import end_orphan
from tests.remediations.actor.holding import holding
from tests.remediations.actors import Started, wanted
from tests.remediations.plan.sick import INCIDENT, ROOT, of, sick

pytestmark = [pytest.mark.root, pytest.mark.serial]
Start = Callable[..., Started]
UID = 20_002
GROUP = "slurm_gpudiag_gate/uid_20002/job_88124"
# Nothing of the job is left here, and the controller does not know it any more.
SLURM = "#!/bin/sh\necho 'PID JOBID STEPID LOCALID GLOBALID'\n"
OVER = "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n"


def orphan(pid: int) -> dict[str, Any]:
    """Return the arguments as the plan has them."""
    there = processes.look(pid)
    subject = Subject(kind="process", name=str(pid), pid=pid)
    root = of(ROOT, fault="gpu_process_orphaned", severity="warning", subject=subject)
    ticks, cgroup = there.start_ticks, there.cgroup
    holder = Holder(pid=pid, start_ticks=ticks, uid=UID, comm="sleep", cgroup=cgroup)
    planned = end_orphan.propose(sick(root, holders=(holder,)), INCIDENT, root)
    assert planned is not None
    return dict(planned.steps[0].args)


def begun(actor: Started, pid: int) -> str:
    plan = json.dumps({"pid": pid})
    opened = actor.ask("begin", **wanted("process.end_orphan", lease="", plan=plan))
    assert isinstance(opened, Done)
    return str(opened.value["id"])


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    paths = {}
    for name, script in {"scontrol": SLURM, "squeue": OVER}.items():
        path = tmp_path / name
        path.write_text(script)
        path.chmod(0o755)
        paths[name] = str(path)
    return paths


def test_ended_by_the_actor(start_actor: Start, tools: dict[str, str]) -> None:
    """Only by an open action; what was meant and done stands in the journal."""
    actor = start_actor(
        "process.end_orphan", env={"GPUDIAG_TEST_TOOLS": json.dumps(tools)}, within=()
    )
    with holding(UID, GROUP) as pid:
        args = orphan(pid)
        without = actor.ask("end_process", id="none", **args)
        id_ = begun(actor, pid)
        before = actor.ask("process_ended", **args)
        done = actor.ask("end_process", id=id_, **args)
        after = actor.ask("process_ended", **args)
    kinds = [json.loads(line)["kind"] for line in actor.journal()]
    assert isinstance(without, Objection)
    assert (Done(value=False), Done({"n": 1, "said": "it ended by TERM"}), Done(value=True)) == (
        before,
        done,
        after,
    )
    assert ["begin", "intent", "outcome"] == kinds


def test_another_control_group(start_actor: Start, tools: dict[str, str]) -> None:
    """What a caller says is compared with what is, and the process runs on."""
    actor = start_actor(
        "process.end_orphan", env={"GPUDIAG_TEST_TOOLS": json.dumps(tools)}, within=()
    )
    with holding(UID, GROUP) as pid:
        id_ = begun(actor, pid)
        no = actor.ask("end_process", id=id_, **{**orphan(pid), "cgroup": processes.digest("0::/")})
        runs = not processes.process_ended(Path("/"), **orphan(pid))
    assert isinstance(no, Objection)
    assert (f"pid {pid} was moved to another control group", True) == (no.why, runs)
