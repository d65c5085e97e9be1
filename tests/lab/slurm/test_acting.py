"""Real Slurm, a real aggregator, a real actor: a node is drained, held, and given back; or not."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remediations.act.means import Ended
from remediations.plan.actions import Fleet
from tests.e2e.aggregators import Served, aggregator
from tests.lab.slurm.acting import Acted, path_of
from tests.lab.slurm.cluster import Cluster, until

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.timeout(240),
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]
NODE, ILL, WELL = "gpu02", "h100-gpu-lost", "h100-idle"
FAULT = "gpudiag: gpu_fell_off_bus gpu 0000:5d:00.0"
REMEDIES = ("slurm.drain", "slurm.resume")
Start = Callable[..., Acted]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Return an aggregator that has counted nothing yet: it lets a part be tried five times."""
    with aggregator(tmp_path / "fleet") as where:
        yield where


@pytest.fixture
def start(cluster: Cluster, served: Served, tmp_path: Path) -> Iterator[Start]:
    """Return what puts an actor and a service onto a node of the cluster."""
    started: list[Acted] = []

    def begin(name: str, served: Served | None, *acting: str) -> Acted:
        acted = Acted(cluster, name, served, tmp_path / name, *(acting or REMEDIES))
        started.append(acted)
        acted.actor.start()
        return acted

    yield begin
    for one in started:
        one.close()
    operator = served.token("operator")
    for lease in served.get("/v1/leases", operator)["items"]:
        served.send("DELETE", f"/v1/leases/{lease['id']}", operator)


def ended(said: Ended | None) -> str:
    return "nothing" if said is None else said.outcome


def held(served: Served) -> list[str]:
    return [one["node"] for one in served.get("/v1/leases", served.token("viewer"))["items"]]


def test_drained_and_given_back(start: Start, served: Served, cluster: Cluster) -> None:
    """A lost GPU: drained with our reason, under a lease; mended: resumed, the lease given back."""
    node = start(NODE, served)
    viewer = served.token("viewer")
    node.walks(ILL)
    drained = node.round(ILL)
    after = (cluster.states()[NODE], cluster.reason(NODE)[: len(FAULT)], held(served))
    (bundle,) = path_of(node)
    with tarfile.open(bundle) as archive:
        inside = sorted(Path(name).name for name in archive.getnames())
    # The fault is still there: nothing is done twice, and the drain stays.
    node.walks(ILL)
    again = node.round(ILL)
    node.walks(WELL, times=12)
    node.clock.ahead += 900.0
    resumed = node.round(WELL)
    assert (
        ("done", "drained", FAULT, [NODE]),
        ["incident.json", "ticket.txt"],
        "nothing",
        ("done", "idle", []),
        [
            ("granted", "slurm.drain"),
            ("begun", "slurm.drain"),
            ("done", "slurm.drain"),
            ("begun", "slurm.resume"),
            ("done", "slurm.resume"),
        ],
    ) == (
        (ended(drained), *after),
        inside,
        ended(again),
        (ended(resumed), cluster.states()[NODE].rstrip("*"), held(served)),
        node.actions(viewer),
    )


def test_a_persons_drain_is_left_alone(start: Start, served: Served, cluster: Cluster) -> None:
    """A person drains first, even after the walk: the actor looks itself, and leaves it alone."""
    node = start(NODE, served)
    node.walks(ILL)
    cluster.client("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=new fans")
    late = node.round(ILL)
    node.walks(ILL)
    known = node.round(ILL)
    # Nor is it given back when all is well.
    node.walks(WELL, times=12)
    well = node.round(WELL)
    assert (
        ("untouched", "slurm_drain: it is out of use already, and not by us: new fans"),
        ("nothing", "nothing"),
        ("drained", "new fans", []),
    ) == (
        (ended(late), late.reason if late else ""),
        (ended(known), ended(well)),
        (cluster.states()[NODE], cluster.reason(NODE), held(served)),
    )


def test_drained_by_another_meanwhile(start: Start, served: Served, cluster: Cluster) -> None:
    """We drained it, then a person gave it another reason: it is his, and stays out."""
    node = start(NODE, served)
    node.walks(ILL)
    node.round(ILL)
    cluster.client("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=mine now")
    node.walks(WELL, times=12)
    assert ("nothing", "drained", "mine now") == (
        ended(node.round(WELL)),
        cluster.states()[NODE],
        cluster.reason(NODE),
    )


def test_a_refusal_stands_a_while(start: Start, served: Served) -> None:
    """What was refused is not asked for again with each walk, but after five minutes."""
    first, second = start("gpu01", served), start("gpu03", served)
    first.walks(ILL)
    first.round(ILL)
    # On slow cores five minutes are over soon by a faster clock.
    second.clock.speed = 1.0
    second.walks(ILL)
    outcomes = []
    for _ in range(3):
        second.walks(ILL, times=2, apart_s=1.0)
        outcomes.append(ended(second.round(ILL, apart_s=1.0)))
    second.clock.ahead += 300.0
    second.walks(ILL, times=2)
    assert ["untouched", "nothing", "nothing", "untouched"] == [
        *outcomes,
        ended(second.round(ILL)),
    ]


def test_one_node_of_three(start: Start, served: Served, cluster: Cluster) -> None:
    """Two nodes are ill: the second waits for the first, as the aggregator's budget has it."""
    first, second = start("gpu01", served), start("gpu03", served)
    for node in (first, second):
        node.walks(ILL)
    said = [first.round(ILL), second.round(ILL)]
    states = cluster.states()
    assert (["done", "untouched"], "gpu01 is out already, and 1 may be", "drained", "idle") == (
        [ended(one) for one in said],
        said[1].reason if said[1] else "",
        states["gpu01"],
        states["gpu03"].rstrip("*"),
    )


def test_nothing_without_the_aggregator(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    """It is killed, or never heard, or none is named: it is advised, and the node goes on."""
    with aggregator(tmp_path / "gone") as gone:
        node = start(NODE, gone)
    node.walks(ILL)
    killed = node.round(ILL)
    node.fleet = Fleet(heard_s_ago=600.0)
    node.walks(ILL)
    silent = node.round(ILL)
    alone = start("gpu01", None)
    alone.walks(ILL)
    assert ("untouched", True, "nothing", "nothing", {"idle"}) == (
        ended(killed),
        "the aggregator gave no leave" in (killed.reason if killed else ""),
        ended(silent),
        ended(alone.round(ILL)),
        {state.rstrip("*") for state in cluster.states().values()},
    )


def test_paused_fleet(start: Start, served: Served, cluster: Cluster) -> None:
    """An operator pauses all acting: no node waits for the next heartbeat to hear of it."""
    node = start(NODE, served)
    operator = served.token("operator")
    asked = {"paused": True, "reason": "storage is being moved"}
    served.send("POST", "/v1/pause", operator, asked)
    node.walks(ILL)
    unheard = node.round(ILL)
    node.fleet = Fleet(heard_s_ago=1.0, paused=True)
    node.walks(ILL)
    heard = node.round(ILL)
    served.send("POST", "/v1/pause", operator, asked | {"paused": False})
    assert (("untouched", "all acting is paused by an operator"), "nothing", "idle") == (
        (ended(unheard), unheard.reason if unheard else ""),
        ended(heard),
        cluster.states()[NODE].rstrip("*"),
    )


def test_no_actor_no_act(start: Start, served: Served, cluster: Cluster) -> None:
    """Without the actor nothing is done, whatever the policy says; advised by default."""
    node = start(NODE, served)
    node.actor.kill()
    node.walks(ILL)
    assert ("nothing", False, "idle") == (
        ended(node.round(ILL)),
        node.service.now.actor,
        cluster.states()[NODE].rstrip("*"),
    )


def test_actor_killed_between(start: Start, served: Served, cluster: Cluster) -> None:
    """The actor dies right after Slurm took the drain: the next round asks Slurm, and ends it."""
    node = start(NODE, served)
    node.walks(ILL)
    node.round(ILL)
    # As it would stand had it died before it wrote the outcome and the end.
    journal = node.actor.state / "journal.jsonl"
    lines = [x for x in node.actor.journal() if '"outcome"' not in x.partition(",")[0]]
    node.actor.kill()
    journal.write_text("".join(f"{x}\n" for x in lines if '"kind":"end"' not in x))
    node.actor.start()
    node.walks(ILL)
    node.round(ILL)
    node.walks(ILL)
    node.round(ILL)
    intents = [x for x in node.actor.journal() if '"kind":"intent"' in x]
    ends = [x for x in node.actor.journal() if '"kind":"end"' in x]
    assert ("drained", 1, 1, True) == (
        cluster.states()[NODE],
        len(intents),
        len(ends),
        '"outcome":"done"' in ends[0],
    )


def test_a_busy_node_is_waited_for(start: Start, served: Served, cluster: Cluster) -> None:
    """A job runs: the drain lets no other come, and the job goes on to its own end."""
    node = start(NODE, served)
    cluster.client("sbatch", "-w", NODE, "-o", "/dev/null", "--wrap", "sleep 120")
    until("a job on the node", lambda: cluster.states()[NODE].startswith(("mixed", "alloc")))
    node.walks(ILL, jobs=("1",))
    drained = ended(node.round(ILL))
    while_it_runs = (cluster.states()[NODE], cluster.queue())
    cluster.client("scancel", "--user=root")
    until("the end of the job", lambda: cluster.states()[NODE] == "drained")
    assert ("done", ("draining", ["RUNNING None"])) == (drained, while_it_runs)
