"""Edges are data: what is declared is joined in its own sense, and what is wrong is said."""

import pytest

from collectors.facts.subject import Subject
from diagnostics.finding import Evidence, Finding, Severity
from diagnostics.incidents.declared import EdgesError, parse
from diagnostics.incidents.edge import Edge
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.aliases import codes
from diagnostics.knowledge.pages import load as pages
from tests.diagnostics.incidents.made import GPU, LOG, NODE, finding, roots

MANY = """
[[edge]]
cause = ["a", "b"]
consequence = ["b", "c"]
same = "node"
within_s = 10.0
direction = "first"

[[alike]]
fault = "d"
same = "subject"
"""


def test_the_log_and_the_ranks_of_a_job_that_stands_still_are_one_incident() -> None:
    """What its log repeats and that nothing moves is one stop; another job's is another."""
    stopped = finding("training_hang", subject=Subject(kind="job", name="90417", job="90417"))
    logs = [
        finding("training_hang", "warning", subject=Subject(kind="log", name=f"{job}.log", job=job))
        for job in ("90417", "90418")
    ]

    assert [("training_hang", "90417"), ("training_hang", "90418.log")] == roots(stopped, *logs)


def test_each_cause_explains_each_consequence_but_never_itself() -> None:
    """Lists are crossed; one fault that two sources tell is declared as alike."""
    told = [("a", "b"), ("a", "c"), ("b", "c")]

    assert (
        *(Edge(cause, follows, "node", 10.0, "first") for cause, follows in told),
        Edge("d", "d", "subject"),
    ) == parse("x.toml", MANY)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[edge]\n", "Expected ']]'"),
        ('[[edge]]\ncause = "a"\nconsequence = "b"\nsame = "gpu"', "Invalid enum value 'gpu'"),
        ('[[edge]]\ncause = "a"\nsame = "node"', "missing required field `consequence`"),
        (
            '[[edge]]\ncause="a"\nconsequence="b"\nsame="node"\nwithin_s=-1.0',
            "Expected `float` > 0",
        ),
        ('[[edge]]\ncause="a"\nconsequence=["b","b"]\nsame="node"', "a -> b (node) stands 2 times"),
    ],
)
def test_what_is_wrong_is_said_with_its_file(text: str, why: str) -> None:
    """A broken file names itself, what is wrong, and what to do."""
    with pytest.raises(EdgesError) as told:
        parse("x.toml", text)

    assert [] == [
        part for part in ("diagnostics/incidents/data/x.toml", why) if part not in str(told.value)
    ]


# Faults that lead to nothing and follow from nothing that is told on one node, by why.
ALONE = {
    "notes of how a node is": {
        *("expectation_provisional", "host_memory_ratio_low", "ib_partition_blocks_probe"),
        *("hca_firmware_pending", "persistence_mode_off", "gpu_compute_mode_restricted"),
        *("software_changed", "node_changed", "node_under_maintenance"),
    },
    "corrected, and no sign of what comes": {"host_memory_correctable"},
    "parts that differ, whatever that leads to": {"firmware_mixed", "gpu_mode_mixed"},
    "known by its number alone": {"xid_other"},
    "of the observer itself": {
        *("check_not_run", "collector_stuck", "report_undelivered", "aggregator_unreachable"),
        "bmc_unreachable",
    },
    "of the fleet": {
        *("node_lost", "version_drift", "gpu_model_mixed", "queue_wait_high"),
        "rack_power_near_budget",
    },
    "a leftover of a module that was reloaded": {"peermem_invalid_context"},
}


def test_what_no_edge_names_is_alone_for_a_reason() -> None:
    """Every fault that can cause another, or follow from one, is in an edge."""
    named = {fault for edge in EDGES for fault in (edge.cause, edge.consequence)}

    assert set().union(*ALONE.values()) == pages().keys() - named


def test_every_edge_names_faults_that_there_are() -> None:
    """A slip in a name would join nothing, and nobody would see it."""
    known = pages().keys() | codes().keys()
    said = {fault for edge in EDGES for fault in (edge.cause, edge.consequence)}

    assert set() == said - known


GROUPED = """
[groups]
hard = ["a", "b"]
all = ["@hard", "c"]

[[edge]]
cause = "@all"
consequence = "d"
same = "log"
"""


def test_a_group_stands_for_all_its_faults() -> None:
    """Groups name groups; one that is not there, or that names itself, is said."""
    wrong = ("@none", "@round")
    round_ = GROUPED.replace('"c"]', '"c"]\nround = ["@round"]')
    said = []
    for name in wrong:
        with pytest.raises(EdgesError) as told:
            parse("x.toml", round_.replace("@all", name))
        said.append(str(told.value).partition(": ")[2].partition(",")[0])

    assert (
        tuple(Edge(cause, "d", "log") for cause in "abc"),
        ["no group is called 'none'", "no group is called 'round'"],
    ) == (parse("x.toml", GROUPED), said)


def test_what_a_log_says_of_a_gpu_is_the_gpus_own() -> None:
    """The driver's uncorrectable error and the job's word of it are one incident."""
    ecc = finding("ecc_uncorrectable", stage="driver")
    heard = finding("ecc_uncorrectable", stage="training", subject=LOG, confidence=0.95)

    assert [("ecc_uncorrectable", GPU.name)] == roots(heard, ecc)


def test_an_interface_is_down_by_its_own_port_alone() -> None:
    """A port that is down takes its interface with it, and none of another card."""
    states = Evidence(source="/sys/class/infiniband", values={"netdevs": ["ens3"]})
    port = finding(
        "ib_port_down",
        "critical",
        states,
        subject=Subject(kind="port", name="mlx5_3/1"),
        stage="network",
    )
    own, other = (
        finding("nic_link_down", "warning", subject=Subject(kind="nic", name=name), stage="network")
        for name in ("ens3", "ens40f1")
    )

    assert [("ib_port_down", "mlx5_3/1"), ("nic_link_down", "ens40f1")] == roots(own, port, other)


def test_an_array_of_other_disks_is_another_fault() -> None:
    """A lost NVMe drive explains the array that quotes such drives, not one of SATA disks."""
    drive = finding("nvme_missing", subject=Subject(kind="disk", name="nvme3"))
    fast, slow = (
        finding(
            "raid_degraded",
            "warning",
            Evidence(source="/proc/mdstat", text=text),
            subject=Subject(kind="disk", name=name),
        )
        for name, text in (
            ("md0", "md0 : active raid0 nvme1n1p1[1] nvme0n1p1[0]"),
            ("md9", "md9 : active raid1 sdb1[1](F) sda1[0]"),
        )
    )

    assert [("nvme_missing", "nvme3"), ("raid_degraded", "md9")] == roots(slow, drive, fast)


def test_what_began_after_is_no_cause_where_the_direction_is_declared() -> None:
    """A GPU lost an hour after a timeout is another incident; minutes can be the clocks'."""
    at = 1_796_000_000.0
    kmsg, log = Evidence(source="kmsg", text="..."), Evidence(source="out.log", text="...")
    timeout = finding(
        "nccl_collective_timeout", "critical", log, stage="training", subject=LOG, first_seen=at
    )
    lost = [
        finding("gpu_fell_off_bus", "critical", kmsg, stage="driver", first_seen=at + later)
        for later in (-600.0, 120.0, 3600.0)
    ]

    assert [1, 1, 2] == [len(roots(one, timeout)) for one in lost]


def test_one_event_that_two_tell_is_joined_whoever_is_first() -> None:
    """The processor's line stands a tenth of a second before the one that names the module."""
    at = 1_796_000_000.0
    module = finding("host_memory_uncorrectable", stage="driver", first_seen=at)
    checks = [
        finding("cpu_machine_check", stage="driver", subject=NODE, first_seen=at + later)
        for later in (-0.1, 0.1, -60.0)
    ]

    assert [1, 1, 2] == [len(roots(module, one)) for one in checks]


def measured(device: str) -> Finding:
    """Return what was measured on the way to a peer, by an adapter of this node."""
    told = Evidence(source="ib_write_bw", values={"device": device})
    subject = Subject(kind="node", name=f"gpu-018 by {device}", peer="gpu-018")
    return finding("network_bandwidth_low", "warning", told, subject=subject, stage="network")


def port(name: str, fault: str, severity: Severity = "critical", **values: object) -> Finding:
    """Return what is told of a port or card, with what its evidence names."""
    kind = "port" if "/" in name else "nic"
    told = Evidence(source="sysfs", values=dict(values))
    return finding(fault, severity, told, subject=Subject(kind=kind, name=name), stage="network")


FATAL = port("0000:18:00.0", "ib_hca_fatal", device="mlx5_0", netdevs=["ib0"])


@pytest.mark.parametrize(
    ("cause", "same", "other"),
    [
        (
            FATAL,
            port("mlx5_0/1", "ib_port_down", pci="0000:18:00.0"),
            port("mlx5_1/1", "ib_port_down", pci="0000:2a:00.0"),
        ),
        (
            port("0000:18:00.0", "ib_hca_fatal", nic="0000:18:00.0"),
            port("ens8f0", "nic_link_down", "warning", pci="0000:18:00.0"),
            port("ens9f0", "nic_link_down", "warning", pci="0000:2a:00.0"),
        ),
        (
            FATAL,
            port("ib0", "nic_errors_rate", "warning"),
            port("ib1", "nic_errors_rate", "warning"),
        ),
        (
            port("ens8f0", "ib_cable_overheat", "warning"),
            port("mlx5_8/1", "ib_port_flapping", "warning", netdevs=["ens8f0"]),
            port("mlx5_9/1", "ib_port_flapping", "warning", netdevs=["ens9f0"]),
        ),
        (
            port("mlx5_0/1", "ib_port_down", netdevs=["ib0"]),
            port("ib0.8001", "ipoib_down", "warning"),
            port("ib1.8001", "ipoib_down", "warning"),
        ),
        (
            port("ens8f0", "nic_errors_rate", "warning"),
            port("mlx5_8/1", "ib_transport_errors", "warning", netdevs=["ens8f0"]),
            port("mlx5_9/1", "ib_transport_errors", "warning", netdevs=["ens9f0"]),
        ),
        (
            port("ens8f0", "roce_pfc_storm", "warning"),
            port("ens8f0", "roce_congestion", "warning"),
            port("ens9f0", "roce_congestion", "warning"),
        ),
        (
            port("mlx5_0/1", "ib_port_rate_low", "warning"),
            measured("mlx5_0"),
            measured("mlx5_1"),
        ),
    ],
    ids=[
        *("an adapter and its port", "an adapter and its interface", "an adapter and its errors"),
        *("a module and its port", "a port and its child interface"),
        *("a card's drops and its retries", "a card's pauses and its own drops"),
        "a slow port and what went by it",
    ],
)
def test_a_card_explains_what_is_its_own(cause: Finding, same: Finding, other: Finding) -> None:
    """A port, a card and an interface are joined where they are one card, and no other one's."""
    expected = {(one.fault, one.subject.name) for one in (cause, other)}

    assert expected == set(roots(cause, same, other))
