"""Lines for the next start of a job: this node's own names, and nothing that holds for a node."""

import msgspec
import pytest

from collectors.facts.wanted import Role
from collectors.network.gids import Gid, Gids, PortGids
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.ports import Port, Ports
from diagnostics.finding import Finding
from diagnostics.knowledge import pages
from remediations.plan import advise
from remediations.plan.standing import standing
from remediations.remedies import job_lines
from remediations.remedies.job_lines import Compute, compute, conf, lines, place, settings
from tests.remediations.plan.sick import INCIDENT, ROOT, of, sick

NETWORK = Compute(interface="ens1f0", ports=("mlx5_0:1", "mlx5_3:1"), gid=3)


def fault(name: str) -> Finding:
    return of(ROOT, fault=name, stage="training", severity="warning", evidence=())


def card(name: str, speed: int, role: Role | None = None, **changed: object) -> Interface:
    given = Interface(
        name=name,
        up=True,
        running=True,
        mtu=9000,
        speed_mbps=speed,
        addresses=(f"10.20.{speed % 200}.7",),
        physical=True,
    )
    return msgspec.structs.replace(given, role=role, **changed)


def port(device: str, role: Role | None = None, **changed: object) -> Port:
    given = Port(
        device=device, port=1, state="ACTIVE", link_layer="Ethernet", rate_gbps=400.0, role=role
    )
    return msgspec.structs.replace(given, **changed)


def table(device: str, index: int = 3) -> PortGids:
    four = "::ffff:10.20.0.7"
    gids = (Gid(index=0, address="fe80::1"), Gid(index=index, address=four, version=2))
    return PortGids(port=f"{device}/1", gids=gids)


def test_names_of_the_roles() -> None:
    """The interface and the ports that the site gave to jobs, whatever else is faster."""
    cards = (card("eno1", 10_000, "management"), card("ens1f0", 100_000, "compute"))
    seen = (*cards, card("ens9", 200_000, "storage"), card("docker0", 0))
    ports = (port("mlx5_0", "compute"), port("mlx5_3", "compute"), port("mlx5_9", "storage"))
    gids = Gids(ports=tuple(table(one.device) for one in ports))
    assert NETWORK == compute(Interfaces(interfaces=seen), Ports(ports=ports), gids)


def test_names_without_roles() -> None:
    """The fastest that leads out of the node, and the ports of the highest rate."""
    dead = card("ens8", 400_000, running=False)
    local = card("ens7", 400_000, addresses=("fe80::7",))
    seen = (card("docker0", 900_000), dead, local, card("eno1", 1000), card("ens1f0", 100_000))
    ports = (port("mlx5_0"), port("mlx5_4", rate_gbps=25.0), port("mlx5_5", state="DOWN"))
    told = compute(Interfaces(interfaces=seen), Ports(ports=ports), None)
    assert Compute(interface="ens1f0", ports=("mlx5_0:1",)) == told


def test_indexes_that_differ() -> None:
    """One number for all ports would be wrong for one of them: none is named."""
    ports = Ports(ports=(port("mlx5_0"), port("mlx5_3")))
    gids = Gids(ports=(table("mlx5_0", 3), table("mlx5_3", 5)))
    assert compute(None, ports, gids).gid is None


def test_what_is_not_known_names_nothing() -> None:
    """A walk that saw no network leads to no line with a name."""
    known = standing({}).network
    assert (None, ()) == (known, lines(fault("nccl_wrong_interface"), known, pod=False))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "nccl_wrong_interface",
            (
                "export NCCL_SOCKET_IFNAME='=ens1f0'",
                "export GLOO_SOCKET_IFNAME='ens1f0'",
                "export NCCL_IB_HCA='=mlx5_0:1,mlx5_3:1'",
            ),
        ),
        ("roce_gid_missing", ("export NCCL_IB_GID_INDEX='3'",)),
        ("ib_retry_exceeded", ("export NCCL_IB_TIMEOUT='22'", "export NCCL_IB_RETRY_CNT='7'")),
        ("shm_exhausted", job_lines.SHARED),
        ("ib_memlock_limit", job_lines.LOCKED),
        ("nan_loss", (job_lines.PRECISION, job_lines.CLIP)),
        ("gpu_fell_off_bus", ()),
    ],
)
def test_lines_of_a_script(name: str, expected: tuple[str, ...]) -> None:
    """Each fault its own; what is broken in the node is not talked away by a variable."""
    told = [place(line)[1] for line in lines(fault(name), NETWORK, pod=False)]
    assert expected == tuple(told)


def test_lines_of_a_pod() -> None:
    """In the words of its spec."""
    told = lines(fault("nccl_no_socket_interface"), NETWORK, pod=True)
    env = "env: {name: NCCL_SOCKET_IFNAME, value: '=ens1f0'}"
    shared = lines(fault("shm_exhausted"), NETWORK, pod=True)
    assert (f"in the pod's spec: {env}", [*job_lines.SHARED_POD]) == (
        told[0],
        [place(line)[1] for line in shared],
    )


def test_peer_access_is_turned_off_for_one_run_alone() -> None:
    """As a test that says so, and never in a file that stays."""
    known = pages.load()
    filed = [name for name in known if "NCCL_P2P_DISABLE" in settings(fault(name), NETWORK)]
    told = [
        line
        for name in known
        for pod in (False, True)
        for line in lines(fault(name), NETWORK, pod=pod)
        if "NCCL_P2P_DISABLE" in line
    ]
    assert ([], True, 4) == (
        filed,
        all(place(line)[0] == job_lines.ONCE for line in told),
        len(told),
    )


def test_faults_are_known() -> None:
    """A line for a fault that nobody finds would never be read."""
    sets = (job_lines.MEET, job_lines.RAILS, job_lines.ADDRESS, job_lines.ONE_RUN)
    tables = (job_lines.FIXED, job_lines.CODE, job_lines.LIMITS)
    named = {name for group in (*sets, *tables) for name in group}
    assert set() == named - pages.load().keys()


def test_a_file_has_only_what_nccl_reads() -> None:
    """PyTorch's and Gloo's variables stand in no file of NCCL's."""
    found = settings(fault("nccl_wrong_interface"), NETWORK)
    assert "NCCL_SOCKET_IFNAME==ens1f0\nNCCL_IB_HCA==mlx5_0:1,mlx5_3:1\n" == conf(found)


def test_they_stand_in_the_plan() -> None:
    """Before the steps of the fault's page."""
    given = sick(fault("nccl_wrong_interface"), network=NETWORK)
    (line,) = advise.propose(given, pages.load())
    expected = ("in the job's script: export NCCL_SOCKET_IFNAME='=ens1f0'", INCIDENT.id)
    assert expected == (line.steps[0], line.incident)
