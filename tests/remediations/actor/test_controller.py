"""What Slurm's clients print, of old and new versions, and with what users and others write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.jobs import node_reason
from remediations.actor import controller, reboot, requeue, slurm
from remediations.actor.controller import Job, Node
from remediations.plan import scheduler, standing

OURS = "gpudiag: gpu_lost gpu 0000:41:00.0 incident 9f2c"
LINE = (
    "NodeName=gpu-017 Arch=x86_64 CoresPerSocket=48 CPUAlloc=0 ActiveFeatures=h100 "
    "NodeAddr=gpu-017 Version=24.05.4 OS=Linux 6.8.0 #45 SMP RealMemory=2063440 State={state} "
    "ThreadsPerCore=2 NextState=DOWN Partitions=train BootTime=2026-11-23T11:02:41{reason}\n"
)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("IDLE", {"IDLE"}),
        ("IDLE+DRAIN", {"IDLE", "DRAIN"}),
        ("DOWN*+DRAIN", {"DOWN", "DRAIN", "NOT_RESPONDING"}),
        ("IDLE@+DRAIN", {"IDLE", "DRAIN", "REBOOT_REQUESTED"}),
        ("DOWN^", {"DOWN", "REBOOT_ISSUED"}),
        ("MIXED+DRAIN+REBOOT_REQUESTED", {"MIXED", "DRAIN", "REBOOT_REQUESTED"}),
        ("DOWN+NOT_RESPONDING", {"DOWN", "NOT_RESPONDING"}),
    ],
)
def test_states_of_old_and_new(state: str, expected: set[str]) -> None:
    """Before 21.08 signs stood for flags; the state that comes next is none of now."""
    assert Node(frozenset(expected), "", "") == controller.node_of(
        LINE.format(state=state, reason="")
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (f" Reason={OURS} [root@2026-11-30T02:11:09]", (OURS, "root")),
        (f" Reason={OURS} [root@2026-11-30T02:11:09] Comment=rack 7", (OURS, "root")),
        (f" Reason={OURS}", (OURS, "")),
        (" Reason=new fans [ops.7@2026-11-30T02:11:09]", ("new fans", "ops.7")),
        (" Reason=see State=IDLE [ops7@2026-11-30T02:11:09]", ("see State=IDLE", "ops7")),
        ("", ("", "")),
    ],
)
def test_reason(reason: str, expected: tuple[str, str]) -> None:
    """It ends before who gave it; what newer versions print behind is not of it."""
    found = controller.node_of(LINE.format(state="IDLE+DRAIN", reason=reason))
    assert (frozenset({"IDLE", "DRAIN"}), *expected) == found


@pytest.mark.parametrize("text", ["", "No nodes in the system", "NodeName=a NextState=DOWN"])
def test_no_state_is_no_node(text: str) -> None:
    """A sentence of Slurm's is not read as a node that is in use."""
    assert None is controller.node_of(text)


def test_rows() -> None:
    """Processes without the place that Slurm holds, steps with a number, jobs with their flags."""
    pids = "PID      JOBID    STEPID   LOCALID GLOBALID\n7 88123 extern 0 0\n9 88123 0 - -\n"
    assert (
        [(9, "88123", "0")],
        {"88123": {"0": 63}},
        {"88123": Job("RUNNING", requeue=True, batch=False)},
    ) == (
        controller.processes_of(pids),
        controller.steps_of("88123.0 1:03\n88123.batch 1:04\n"),
        controller.jobs_of("88123 RUNNING 1 0 \n"),
    )


def test_settings() -> None:
    """The first of each; a program that is not set is told as such."""
    text = "RebootProgram           = (null)\nReturnToService         = 2\nReturnToService = 0\n"
    assert {"RebootProgram": reboot.UNSET, "ReturnToService": "2"} == controller.settings_of(text)


@given(st.text(alphabet="State=Reason [@]:-+*DRAINIDLE0127.\n() xy", max_size=300))
def test_any_text_is_read(text: str) -> None:
    """Whatever they print, reading it does not fail, and stays bounded."""
    node = controller.node_of(text)
    controller.processes_of(text)
    controller.steps_of(text)
    controller.jobs_of(text)
    controller.settings_of(text)
    assert node is None or len(node.reason) <= 400


@given(st.text(st.characters(blacklist_categories=["C", "Z"]), max_size=200))
def test_no_reason_forges_a_state(reason: str) -> None:
    """Whoever may write a reason, of whatever text, does not thereby drain or resume the node."""
    found = controller.node_of(LINE.format(state="MIXED", reason=f" Reason={reason}"))
    assert frozenset({"MIXED"}) == (found.states if found else None)


def test_plan_and_actor_read_alike() -> None:
    """Said twice on purpose, for the actor imports nothing of the planner."""
    assert (
        controller.PREFIX,
        slurm.REBOOTED,
        controller.SIGNS,
        requeue.LEAST_S,
    ) == (
        scheduler.PREFIX,
        scheduler.REBOOTED,
        node_reason.SIGNS,
        standing.LEAST_RAN_S,
    )
