"""Findings become incidents: a cause explains what follows, nothing explains itself."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.subject import Subject
from diagnostics.document import numbered
from diagnostics.finding import Finding, Severity, Stage, Text
from diagnostics.incidents import join, look
from diagnostics.incidents.edge import Edge
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import load

LOST = Edge("gpu_lost", "task_blocked_d_state", "node")
HUNG = Edge("task_blocked_d_state", "nccl_collective_timeout", "node")
SAME = Edge("storage_hang", "task_blocked_d_state", "subject")


def finding(fault: str, severity: Severity = "critical", **parts: Any) -> Finding:
    subject = parts.pop("subject", Subject(kind="gpu", name="0000:4e:00.0"))
    text = Text(key=fault)
    return Finding(
        fault=fault, severity=severity, subject=subject, message=fault, text=text, **parts
    )


def joined(*findings: Finding, edges: tuple[Edge, ...] = (LOST, HUNG)) -> tuple[Finding, ...]:
    return join.explain(numbered(findings), edges)


def test_a_chain_has_one_root() -> None:
    """A lost GPU explains the blocked task, and that explains the timeout: one incident."""
    findings = joined(
        finding("nccl_collective_timeout", stage="training"),
        finding("task_blocked_d_state"),
        finding("gpu_lost", stage="driver"),
    )

    told = join.incidents(findings, "gpu-017", load(), None)

    assert [("gpu_lost", {"nccl_collective_timeout", "task_blocked_d_state"})] == [
        (by_id(findings, i.root).fault, {by_id(findings, c).fault for c in i.consequences})
        for i in told
    ]


def by_id(findings: tuple[Finding, ...], name: str) -> Finding:
    return next(f for f in findings if f.id == name)


def test_another_subject_is_not_joined() -> None:
    """An edge that wants the same subject leaves two mounts alone."""
    scratch, data = (Subject(kind="mount", name=n) for n in ("/scratch", "/data"))
    findings = joined(
        finding("storage_hang", subject=scratch),
        finding("task_blocked_d_state", subject=data),
        edges=(SAME,),
    )

    assert [None, None] == [f.explained_by for f in findings]


def test_an_edge_with_a_time_joins_what_began_within_it() -> None:
    """Seconds later it follows; earlier, much later, or on another thing without a time it does
    not.
    """
    near = Edge("gpu_lost", "task_blocked_d_state", "node", 10.0)
    lost = finding("gpu_lost", first_seen=100.0, last_seen=120.0)
    began = (99.0, 100.0, 130.0, 131.0, None)
    told = [
        joined(lost, finding("task_blocked_d_state", "warning", first_seen=at), edges=(near,))
        for at in began
    ]

    assert [False, True, True, False, False] == [
        any(f.explained_by for f in findings) for findings in told
    ]


def test_two_edges_of_one_pair_are_both_tried() -> None:
    """A consequence follows by the same thing or by the same process."""
    gpu, other = (Subject(kind="gpu", name=n, pid=81) for n in ("0000:4e:00.0", "0000:5b:00.0"))
    edges = (
        Edge("gpu_lost", "xid_45", "subject"),
        Edge("gpu_lost", "xid_45", "pid"),
    )
    found = joined(finding("gpu_lost", subject=gpu), finding("xid_45", subject=other), edges=edges)

    assert [True, False] == [f.explained_by is None for f in found]


def test_info_is_no_incident() -> None:
    """A finding of severity info is neither a root cause nor an incident."""
    findings = joined(finding("gpu_memory_high", "info"))

    assert ((), ()) == (
        join.root_causes(findings),
        join.incidents(findings, "gpu-017", load(), None),
    )


def test_a_line_about_the_node_follows_from_the_thing_that_a_check_names() -> None:
    """A dead mount and the kernel's word about its server are one incident, two mounts two."""
    node, data, home = (
        Subject(kind=kind, name=name)
        for kind, name in (("node", "node"), ("mount", "/data"), ("mount", "/home"))
    )
    hung = [finding("storage_hang", "critical", subject=s) for s in (data, node, home)]
    edge = Edge("storage_hang", "storage_hang", "whole")
    found = join.explain(numbered(hung), (edge,))

    assert [("/data", True), ("/home", True), ("node", False)] == sorted(
        (f.subject.name, f.explained_by is None) for f in found
    )


def test_a_count_of_the_node_follows_from_another_fault_of_the_node() -> None:
    """Too few ports in use follow from an absent subnet manager; two like counts stay apart."""
    node = Subject(kind="node", name="node")
    few, again = (finding("ib_port_down", subject=node) for _ in range(2))
    manager = finding("ib_subnet_manager_missing", subject=node)
    edges = (
        Edge("ib_subnet_manager_missing", "ib_port_down", "whole"),
        Edge("ib_port_down", "ib_port_down", "whole"),
    )
    alone = joined(few, again, edges=edges)
    together = joined(few, manager, edges=edges)

    assert (["ib_port_down", "ib_port_down"], ["ib_subnet_manager_missing"]) == (
        [f.fault for f in alone if f.explained_by is None],
        [f.fault for f in together if f.explained_by is None],
    )


def test_of_two_words_for_one_thing_the_earlier_stage_is_told() -> None:
    """A check of processes knows the job of what the kernel killed: the kernel's line follows."""
    process = Subject(kind="process", name="python", pid=218_736)
    kernel = finding("process_oom_killed", subject=process, stage="driver", confidence=0.95)
    check = finding("process_oom_killed", subject=process, stage="processes", confidence=0.9)
    edge = Edge("process_oom_killed", "process_oom_killed", "pid")

    for found in ((kernel, check), (check, kernel)):
        roots = [f.stage for f in joined(*found, edges=(edge,)) if f.explained_by is None]
        assert ["processes"] == roots


def test_the_fingerprint_outlives_the_walk() -> None:
    """The same fault of the same thing has one fingerprint, another thing has another."""
    here, there = (Subject(kind="gpu", name=n) for n in ("0000:4e:00.0", "0000:5e:00.0"))

    told = [join.fingerprint("gpu-017", "gpu_lost", s) for s in (here, here, there)]

    assert (True, True) == (told[0] == told[1], told[1] != told[2])


FAULTS = st.sampled_from(["gpu_lost", "task_blocked_d_state", "nccl_collective_timeout", "x"])
STAGES: list[Stage] = ["processes", "driver", "network", "training"]
FINDINGS = st.lists(
    st.builds(
        finding,
        FAULTS,
        st.sampled_from(["info", "warning", "critical"]),
        stage=st.sampled_from(STAGES),
        confidence=st.floats(0, 1),
        count=st.integers(1, 9),
    ),
    max_size=8,
)
RING = (LOST, HUNG, Edge("nccl_collective_timeout", "gpu_lost", "node"))


@given(FINDINGS, st.sampled_from([(), (LOST, HUNG), RING]))
def test_every_loud_finding_has_one_place(found: list[Finding], edges: tuple[Edge, ...]) -> None:
    """Each finding above info is in exactly one incident, as its root or as a consequence."""
    findings = join.explain(numbered(found), edges)
    told = join.incidents(findings, "n", load(), None)
    placed = [name for i in told for name in (i.root, *i.consequences)]
    loud = {f.id for f in findings if f.severity != "info"}

    assert len(placed) == len(set(placed))
    assert loud <= set(placed)


def test_a_note_explains_no_fault() -> None:
    """What is only worth a note must not hide a fault: it is no cause."""
    findings = joined(finding("gpu_lost", "info"), finding("task_blocked_d_state"))

    assert [None, None] == [f.explained_by for f in findings]


def test_edges_join_known_faults() -> None:
    """Both ends of every declared edge have a page."""
    pages = load()

    assert [] == [e for e in EDGES if {named(e.cause), named(e.consequence)} - set(pages)]


def test_the_first_command_names_the_subject_and_cannot_be_broken_out_of() -> None:
    """Places are filled with what is known, quoted for a shell; what is unknown stays a place."""
    mount = finding("storage_hang", subject=Subject(kind="mount", name="/scratch/a b;reboot"))

    told = look.command("timeout 5 stat -f MOUNT; cat /proc/PID/stack", mount, "gpu-017")

    assert "timeout 5 stat -f '/scratch/a b;reboot'; cat /proc/PID/stack" == told


def test_a_gpu_is_named_to_nvidia_smi_by_its_address() -> None:
    """The index that pages call N is the GPU's address, which a reboot does not change."""
    lost = finding("gpu_lost", subject=Subject(kind="gpu", name="0000:5d:00.0"))

    told = look.command("nvidia-smi -q -i N | grep -c N; journalctl -n 20", lost, "gpu-017")

    assert "nvidia-smi -q -i 0000:5d:00.0 | grep -c N; journalctl -n 20" == told
