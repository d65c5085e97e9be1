"""Real Slurm and a real actor: a person drains a node at the keyboard, without an aggregator."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent.cli.hands import Keyboard
from agent.cli.planned import Planned
from agent.settings.load import Settings
from remediations.act.means import Ended
from remediations.actor import trust
from remediations.actor.clock import boot_id
from remediations.plan.decide import decide
from remediations.plan.situation import Acting, situation
from tests.lab.slurm.acting import FREE, Acted, path_of
from tests.lab.slurm.cluster import Cluster
from tests.remediations.plan.rehearsal import acts, seen

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.timeout(240),
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]
NODE = "gpu02"
FAULT = "gpudiag: gpu_fell_off_bus gpu 0000:5d:00.0"


@pytest.fixture
def node(cluster: Cluster, tmp_path: Path) -> Iterator[Acted]:
    acted = Acted(cluster, NODE, None, tmp_path / NODE, "slurm.drain")
    acted.actor.start()
    yield acted
    acted.close()


def planned(node: Acted) -> Planned:
    """Return the plan of a lost GPU, as `gpudiag remediate --act` would have made it just now."""
    document = msgspec.structs.replace(seen("h100-gpu-lost")[0], node=NODE, boot_id=boot_id())
    stands = msgspec.structs.replace(FREE, slurm=node.slurm())
    policy = trust.policy(str(node.actor.policy))
    acting = Acting(policy=policy, actor=True, person=True, rehearsal=True)
    rests_on = situation(document, stands, acting, now=time.time())
    return Planned(
        document=document, situation=rests_on, decisions=decide(rests_on), settings=Settings()
    )


def done(node: Acted, told: Planned, person: str | None) -> Ended:
    first = next(one for one in told.decisions if one.verdict == "acts")
    socket, folder = str(node.actor.socket), str(node.folder)
    return Keyboard(told, "/nonexistent", socket, folder, person).do(first.action)


def test_a_person_drains_without_a_lease(node: Acted, cluster: Cluster) -> None:
    """Slurm says drained with our reason; the evidence is kept, and the journal says who it was."""
    told = planned(node)
    ended = done(node, told, "person:0")
    begun = [line for line in node.actor.journal() if '"kind":"begin"' in line]

    assert (["slurm.drain"], "done", "drained", FAULT, 1, True) == (
        acts(told.decisions),
        ended.outcome,
        cluster.states()[NODE],
        cluster.reason(NODE)[: len(FAULT)],
        len(path_of(node)),
        '"lease":"person:0"' in begun[0],
    )


def test_nobody_drains_twice(node: Acted) -> None:
    """Drained by us, the plan goes on to the repair, which is advised; a drain is none any more."""
    done(node, planned(node), "person:0")
    again = [(one.action.remedy, one.verdict) for one in planned(node).decisions]

    assert [("slurm.reboot", "advised")] == again


def test_a_drain_of_a_persons_own_is_left(node: Acted, cluster: Cluster) -> None:
    """Decided upon a moment before, and still refused: the actor looks itself."""
    told = planned(node)
    cluster.client("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=new fans")
    ended = done(node, told, "person:0")

    assert ("untouched", "new fans") == (ended.outcome, cluster.reason(NODE))


def test_a_script_without_a_lease_drains_nothing(node: Acted, cluster: Cluster) -> None:
    """No aggregator is named, and nobody said that it is meant without one."""
    ended = done(node, planned(node), None)

    assert ("untouched", "idle") == (ended.outcome, cluster.states()[NODE].rstrip("*"))
