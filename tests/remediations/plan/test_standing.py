"""How a node stands with those who use it, and what is not known of it."""

from aggregator.cli import NAME
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices
from collectors.facts.processes import Process, ProcessTable
from collectors.jobs.maintenance import Maintenance
from collectors.jobs.node_reason import NodeReason
from collectors.jobs.running import JobsOnNode, Source
from remediations.duty import DUTIES
from remediations.plan.standing import Standing, duties, standing

Seen = dict[type[Observation], Observation | Missing]
LATE = Missing(what="x", cause=Cause.TIMEOUT, detail="no answer in 4 s")
HELD = Held(pid=7, start_ticks=90, uid=1004, comm="python", cgroup="0::/", devices=(), fds=3)


def processes(*names: str) -> ProcessTable:
    some = tuple(
        Process(pid=n, comm=name, state="S", ppid=1, start_s=1.0) for n, name in enumerate(names)
    )
    return ProcessTable(processes=some, uptime_s=4000.0)


def test_what_was_not_seen_is_not_known() -> None:
    """Neither without a word, nor where each is missing."""
    shapes = (ProcessTable, JobsOnNode, NodeReason, HeldDevices)
    missing: Seen = dict.fromkeys(shapes, LATE)

    assert [Standing(), Standing()] == [standing({}), standing(missing)]


def test_a_node_of_slurm_stands_as_slurm_says() -> None:
    """Its jobs, its states and the reason with who gave it."""
    seen: Seen = {
        ProcessTable: processes("slurmd", "python"),
        JobsOnNode: JobsOnNode(sources=(Source(name="slurm", running=("88123",)),)),
        NodeReason: NodeReason(name="gpu-017", states=("IDLE", "DRAIN"), reason="r", by="root"),
        HeldDevices: HeldDevices(holders=(HELD,), devices=8),
    }
    told = standing(seen)
    assert told.slurm is not None
    assert told.holders is not None

    assert [4000.0, ("88123",), ["DRAIN", "IDLE"], "root", [7], ()] == [
        told.booted_s_ago,
        told.jobs,
        sorted(told.slurm.states),
        told.slurm.owner,
        [one.pid for one in told.holders],
        told.duties,
    ]


def test_a_scheduler_that_is_silent_leaves_jobs_unknown() -> None:
    """A node without Slurm has none."""
    silent = JobsOnNode(silent=(Missing(what="slurm", cause=Cause.TIMEOUT, detail="late"),))

    assert (None, ()) == (
        standing({JobsOnNode: silent}).jobs,
        standing({JobsOnNode: JobsOnNode()}).jobs,
    )


def test_a_holder_that_could_not_be_looked_at_leaves_all_unknown() -> None:
    """It may be the one."""
    assert None is standing({HeldDevices: HeldDevices(unseen=1, devices=8)}).holders


def test_what_others_need_is_told_by_its_process() -> None:
    """Names as the kernel cuts them; each duty once."""
    told = standing(
        {ProcessTable: processes("etcd", "slurmctld", "kube-controller", "kube-scheduler", "nfsd")}
    )

    assert (
        "NFS server",
        "control plane of Kubernetes",
        "etcd",
        "slurmctld",
    ) == told.duties


def test_a_lustre_server_is_told_by_its_threads() -> None:
    """They are the kernel's, and numbered; a program of such a name is none."""
    thread = Process(pid=1, comm="ll_ost_io00_003", state="S", ppid=2, start_s=1.0, kernel=True)
    program = Process(pid=1, comm="ll_ost_io00_003", state="S", ppid=2, start_s=1.0)

    assert (("Lustre server",), ()) == (duties([thread]), duties([program]))


def test_our_aggregator_is_known_by_the_name_that_it_gives_itself() -> None:
    """Started by `python -m` it would be called python."""
    assert {NAME} == {name for name, duty in DUTIES.items() if "aggregator" in duty}


def test_who_works_on_the_node_is_told() -> None:
    """By Slurm's reservation, or by an operator's word to the aggregator."""
    told = [
        standing({Maintenance: one}).maintenance
        for one in (
            Maintenance(by="ops7", reason="new fans"),
            Maintenance(by="slurm"),
            Maintenance(),
        )
    ]

    assert ["by ops7, new fans", "by slurm", None] == told
