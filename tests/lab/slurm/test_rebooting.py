"""Real Slurm reboots a node for us, and gives it to nobody before it was checked."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remediations.act.hand import Done, Objection
from remediations.act.means import Ended
from remediations.actor.reboot import slurm_cancel_reboot
from remediations.actor.registry import Refused, Turn
from remediations.policy import Policy
from tests.e2e.aggregators import Served, aggregator
from tests.lab.slurm.acting import Acted
from tests.lab.slurm.cluster import DOWN, Cluster, until
from tests.remediations.actors import wanted

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.timeout(240),
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]
VERBS = {"update": "drain", "reboot": "reboot"}
END, OUTCOME = '"kind":"end"', '"outcome":'
NODE, ILL, WELL = "gpu02", "h100-gpu-lost", "h100-idle"
FAULT = "gpudiag: gpu_fell_off_bus gpu 0000:5d:00.0"
OURS = f"{FAULT} incident 5e1f"
REMEDIES = ("slurm.drain", "slurm.reboot", "slurm.resume")


Start = Callable[[Served | None], Acted]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Return an aggregator that has counted nothing yet: it lets a node reboot twice in a week."""
    with aggregator(tmp_path / "fleet") as where:
        yield where


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Return what puts an actor and an agent's service onto the node."""
    started: list[Acted] = []

    def begin(served: Served | None) -> Acted:
        acted = Acted(cluster, NODE, served, tmp_path / NODE, *REMEDIES)
        started.append(acted)
        acted.actor.start()
        return acted

    yield begin
    for one in started:
        one.close()
    cluster.client("scancel", "--user=root")
    if cluster.is_down(NODE):
        cluster.boot(NODE)
    cluster.client("scontrol", "cancel_reboot", NODE)
    cluster.returns(to_service=2)


@pytest.fixture
def node(start: Start) -> Acted:
    """Return the node with the actor alone, which is asked directly."""
    return start(None)


def drain(cluster: Cluster, reason: str) -> None:
    cluster.client("scontrol", "update", f"nodename={NODE}", "state=drain", f"reason={reason}")


def drained(cluster: Cluster) -> bool:
    """Drain it; where a registration under new settings had set it down, back first and again."""
    drain(cluster, OURS)
    if cluster.states()[NODE] == "drained":
        return True
    cluster.client("scontrol", "update", f"nodename={NODE}", "state=resume")
    return False


def job(cluster: Cluster) -> None:
    cluster.client("sbatch", "-N1", "-w", NODE, "--output=/dev/null", "--wrap=sleep 600")
    until("a job", lambda: "RUNNING None" in cluster.queue())


def begun(node: Acted) -> str:
    asked = node.actor.ask("begin", **wanted("slurm.reboot", deadline_s=600))
    return "" if isinstance(asked, Objection) else str(asked.value["id"])


def outcome(ended: Ended | None) -> str:
    return "nothing" if ended is None else ended.outcome


def said(answer: object) -> str:
    return answer.why if isinstance(answer, Objection) else "done"


def told(node: Acted, question: str) -> object:
    answer = node.actor.ask(question, reason=OURS)
    return answer.why if isinstance(answer, Objection) else answer.value


@pytest.mark.parametrize(
    ("to_service", "state"),
    [
        pytest.param(0, "down", id="ReturnToService=0"),
        pytest.param(1, "down", id="ReturnToService=1"),
        pytest.param(2, "drained", id="ReturnToService=2"),
    ],
)
def test_it_does_not_return_unvalidated(
    node: Acted, cluster: Cluster, to_service: int, state: str
) -> None:
    """It waits out of use with our reason, gets no job, and the job that asks for it waits."""
    cluster.returns(to_service)
    until("the drained node", lambda: drained(cluster))
    mine = begun(node)
    asked = node.actor.ask("slurm_reboot", id=mine, reason=OURS)
    until("the reboot", lambda: cluster.is_down(NODE))
    before = told(node, "rebooted")
    node.reboots()
    until("the node", lambda: cluster.states()[NODE] == state)
    cluster.client("sbatch", "-N1", "-w", NODE, "--output=/dev/null", "--wrap=sleep 1")
    assert (("done", False, True, True), (state, True, ["PENDING"])) == (
        (said(asked), before, told(node, "rebooted"), told(node, "reboot_asked")),
        (
            cluster.states()[NODE],
            cluster.reason(NODE).startswith(OURS),
            [line.split()[0] for line in cluster.queue()],
        ),
    )


def test_from_the_fault_to_the_next_job(start: Start, served: Served, cluster: Cluster) -> None:
    """Drained, rebooted, checked, given back: the job that waited runs, and the lease is back."""
    node = start(served)
    node.walks(ILL)
    drained = node.round(ILL)
    node.walks(ILL)
    # The machine takes agent and actor with it, in the middle of their waiting for it.
    node.round(ILL, dies=lambda: cluster.is_down(NODE))
    node.reboots()
    until("the node", lambda: cluster.states()[NODE] == "drained")
    cluster.client("sbatch", "-N1", "-w", NODE, "--output=/dev/null", "--wrap=sleep 600")
    node.walks(WELL)
    node.round(WELL)
    before = [line.split()[0] for line in cluster.queue()]
    node.walks(WELL, times=12)
    resumed = node.round(WELL)
    until("the job", lambda: cluster.queue() == ["RUNNING None"])
    assert (
        ("done", "done"),
        ["PENDING"],
        [("done", "slurm.drain"), ("done", "slurm.reboot"), ("done", "slurm.resume")],
    ) == (
        (outcome(drained), outcome(resumed)),
        before,
        [one for one in node.actions(served.token("viewer")) if one[0] == "done"],
    )


def test_what_does_not_pass_stays_out(start: Start, served: Served, cluster: Cluster) -> None:
    """The GPU is still lost after the reboot: handed over to a person, with our reason on it."""
    node = start(served)
    drain(cluster, OURS)
    node.walks(ILL)
    node.round(ILL, dies=lambda: cluster.is_down(NODE))
    node.reboots()
    until("the node", lambda: cluster.states()[NODE] == "drained")
    node.walks(ILL)
    # Until the deadline of two hours.
    node.round(ILL, apart_s=600.0)
    node.walks(ILL)
    again = node.round(ILL)
    last = node.actions(served.token("viewer"))[-1]
    assert (("handed_over", "slurm.reboot"), "nothing", "drained", True) == (
        last,
        outcome(again),
        cluster.states()[NODE],
        "5e1f" not in cluster.reason(NODE) and cluster.reason(NODE).startswith(FAULT),
    )


def test_a_busy_node_is_waited_for(start: Start, served: Served, cluster: Cluster) -> None:
    """It drains while its job runs on; it is rebooted after the job, and not before."""
    node = start(served)
    job(cluster)
    node.walks(ILL, jobs=("1",))
    drained = node.round(ILL)
    node.walks(ILL, jobs=("1",))
    waiting = node.round(ILL)
    busy = (cluster.states()[NODE], cluster.queue(), cluster.is_down(NODE))
    cluster.client("scancel", "--user=root")
    cluster.jobs(NODE)
    node.walks(ILL)
    node.round(ILL, dies=lambda: cluster.is_down(NODE))
    assert ("done", "nothing", ("draining", ["RUNNING None"], False), True) == (
        outcome(drained),
        outcome(waiting),
        busy,
        cluster.is_down(NODE),
    )


def test_the_actor_looks_for_jobs_itself(node: Acted, cluster: Cluster) -> None:
    """Whoever asks for it and says that the node is idle: a job is on it, and it stays up."""
    job(cluster)
    drain(cluster, OURS)
    mine = begun(node)
    busy = node.actor.ask("slurm_reboot", id=mine, reason=OURS)
    drain(cluster, "new fans")
    theirs = node.actor.ask("slurm_reboot", id=mine, reason=OURS)
    assert (
        ("the node is not idle: DRAIN+MIXED", False),
        ("no drain of ours stands on this node: DRAIN+MIXED new fans", False),
    ) == ((said(busy), cluster.is_down(NODE)), (said(theirs), cluster.is_down(NODE)))


def test_not_where_slurm_has_no_program_for_it(node: Acted, cluster: Cluster) -> None:
    """It would take the request, and set the node down when nothing came of it."""
    settings = cluster.folder / "slurm.conf"
    whole = settings.read_text()
    settings.write_text(whole.replace("RebootProgram=", "#"))
    cluster.client("scontrol", "reconfigure")
    drain(cluster, OURS)
    asked = node.actor.ask("slurm_reboot", id=begun(node), reason=OURS)
    settings.write_text(whole)
    cluster.client("scontrol", "reconfigure")
    assert (
        "slurm.conf names no RebootProgram: Slurm cannot reboot the node",
        {"IDLE", "DRAIN"},
    ) == (said(asked), set(node.slurm().states))


def cancelled(turn: Turn) -> str:
    try:
        return slurm_cancel_reboot(turn, OURS)
    except Refused as no:
        return no.detail


def test_a_pending_reboot_is_taken_back(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of ours that Slurm has not begun; a person's reboot is left."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
    monkeypatch.setenv("SLURMD_NODENAME", NODE)
    turn = Turn("a1", "slurm.reboot", "gpu 1", Policy(), tmp_path, 0, 60.0)
    job(cluster)
    drain(cluster, OURS)
    got = []
    for reason in (OURS, "new fans"):
        cluster.client("scontrol", "reboot", "nextstate=DOWN", f"reason={reason}", NODE)
        got += [cancelled(turn), cancelled(turn)]
    no = "no reboot of ours is pending: DRAIN+MIXED"
    theirs = f"{no}+REBOOT_REQUESTED"
    assert ["reboot cancelled", no, theirs, theirs] == got


def test_a_reboot_that_a_person_took_over(node: Acted, cluster: Cluster) -> None:
    """Rebooted by us, then given another reason: it is theirs, and is not resumed."""
    drain(cluster, OURS)
    mine = begun(node)
    node.actor.ask("slurm_reboot", id=mine, reason=OURS)
    until("the reboot", lambda: cluster.is_down(NODE))
    node.reboots()
    until("the node", lambda: cluster.states()[NODE] == "drained")
    node.actor.ask("end", id=mine, outcome="done", said="rebooted")
    drain(cluster, "mine now")
    node.walks(WELL, times=12)
    back = node.round(WELL)
    # Nor does the actor do it, whoever asks.
    asked = wanted("slurm.resume", deadline_s=600, boot_id=node.boot_id)
    resuming = node.actor.ask("begin", **asked)
    assert isinstance(resuming, Done)
    refused = said(node.actor.ask("slurm_resume", id=resuming.value["id"], reason=OURS))
    no = "no such drain of ours stands on this node: mine now"
    assert ("nothing", no, "drained", "mine now") == (
        outcome(back),
        refused,
        cluster.states()[NODE],
        cluster.reason(NODE),
    )


@pytest.mark.parametrize("killed", ["update", "reboot"])
def test_killed_after_slurm_took_it(
    start: Start, served: Served, cluster: Cluster, killed: str
) -> None:
    """The actor is killed between intent and outcome: Slurm is asked, and nothing done twice."""
    node = start(served)
    if killed == "reboot":
        drain(cluster, OURS)
    (node.folder / f"halt-{killed}").touch()
    node.walks(ILL)
    node.round(ILL, dies=(node.folder / "halted").exists)
    node.actor.kill()
    if killed == "reboot":
        until("the reboot", lambda: cluster.is_down(NODE))
        node.reboots()
    else:
        node.actor.start()
    until("the node", lambda: cluster.states()[NODE] == "drained")
    recording = WELL if killed == "reboot" else ILL
    node.walks(recording)
    node.round(recording)
    lines = node.actor.journal()
    assert ("drained", 1, ['"outcome":"done"']) == (
        cluster.states()[NODE],
        sum(f'"verb":"slurm_{VERBS[killed]}"' in line for line in lines),
        [
            f'"outcome":{line.partition(OUTCOME)[2].partition(",")[0]}'
            for line in lines
            if END in line
        ],
    )


def test_what_is_asked_for_is_not_yet_done(start: Start, served: Served, cluster: Cluster) -> None:
    """The machine goes down slowly, all looks well, and the actor dies: the boot is waited for."""
    going = cluster.folder / "bin" / "reboot"
    going.write_text(f"#!/bin/sh\nwhile [ ! -e {cluster.folder}/go ]; do sleep 0.1; done\n{DOWN}")
    node = start(served)
    drain(cluster, OURS)
    (node.folder / "halt-reboot").touch()
    node.walks(ILL)
    node.round(ILL, dies=(node.folder / "halted").exists)
    node.actor.kill()
    node.actor.start()
    node.walks(WELL)
    late = time.monotonic() + 4.0
    waited = node.round(WELL, dies=lambda: time.monotonic() > late)
    open_ = [line for line in node.actor.journal() if END in line]
    (cluster.folder / "go").touch()
    until("the reboot", lambda: cluster.is_down(NODE))
    node.reboots()
    until("the node", lambda: cluster.states()[NODE] == "drained")
    node.walks(WELL)
    node.round(WELL)
    (cluster.folder / "go").unlink()
    assert (None, [], [True]) == (
        waited,
        open_,
        ['"outcome":"done"' in line for line in node.actor.journal() if END in line],
    )
