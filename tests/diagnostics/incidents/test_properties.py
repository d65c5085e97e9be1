"""What holds for the join whatever is found: order, strangers and clocks change no root."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.subject import Subject
from diagnostics.document import numbered
from diagnostics.finding import Evidence, Finding, Stage
from diagnostics.incidents import join
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.pages import load
from tests.diagnostics.incidents.made import GPU, LOG, NODE, finding, roots
from tests.pace import within

STAGES: list[Stage] = ["processes", "driver", "network", "training"]
JOINED = sorted({edge.cause for edge in EDGES} | {edge.consequence for edge in EDGES})
STRANGERS = ["firmware_mixed", "persistence_mode_off", "check_not_run", "version_drift"]
SUBJECTS = st.sampled_from(
    [GPU, NODE, LOG, *(Subject(kind="port", name=f"mlx5_{n}/1") for n in range(3))]
)
AT = st.none() | st.integers(1_796_000_000, 1_796_003_600).map(float)


def made(faults: list[str]) -> st.SearchStrategy[Finding]:
    return st.builds(
        finding,
        st.sampled_from(faults),
        st.sampled_from(["info", "warning", "critical"]),
        subject=SUBJECTS,
        stage=st.sampled_from(STAGES),
        confidence=st.sampled_from([0.6, 0.9, 0.95]),
        first_seen=AT,
        message=st.sampled_from(["one way to say it", "another way to say it"]),
    )


FOUND = st.lists(made(JOINED), max_size=12, unique_by=lambda f: (f.fault, f.subject, f.message))


def explained(found: list[Finding]) -> list[tuple[str, str]]:
    """Return what explains what, by their contents: ids count what stands before."""
    findings = join.explain(numbered(found))
    named = {f.id: f"{f.fault} {f.subject.kind} {f.subject.name} {f.message}" for f in findings}
    return sorted((named[f.id], named.get(f.explained_by or "", "")) for f in findings)


@given(FOUND, st.randoms())
def test_order_changes_nothing(found: list[Finding], chance: object) -> None:
    """However the findings come, each has the same cause."""
    shuffled = sorted(found, key=lambda _: chance.random())  # type: ignore[attr-defined] # a Random

    assert explained(found) == explained(shuffled)


@given(FOUND, st.lists(made([s for s in STRANGERS if s not in JOINED]), max_size=12))
def test_unrelated_findings_change_no_root(found: list[Finding], other: list[Finding]) -> None:
    """What no edge names may be there or not: causes stay, and its own roots are added."""
    alone, beside = roots(*found), roots(*found, *other)
    strangers = {one.fault for one in other}

    assert alone == [root for root in beside if root[0] not in strangers]


@given(FOUND)
def test_without_its_root_the_next_in_the_chain_is_the_root(found: list[Finding]) -> None:
    """Whatever is left is told: a finding above info has one place, as a root or below one."""
    findings = join.explain(numbered(found))
    for root in join.root_causes(findings):
        left = [f for f in findings if f.id != root]
        again = join.explain([msgspec.structs.replace(f, explained_by=None) for f in left])
        told = join.incidents(again, "n", load(), None)
        placed = {name for one in told for name in (one.root, *one.consequences)}

        assert {f.id for f in left if f.severity != "info"} <= placed


def test_the_chain_is_promoted_link_by_link() -> None:
    """Without the lost GPU the blocked task is the root, and without that the timeout."""
    chain = [
        finding("gpu_fell_off_bus", stage="driver"),
        finding("task_blocked_d_state", "warning", stage="processes"),
        finding("nccl_collective_timeout", stage="training", subject=LOG),
    ]

    assert [["gpu_fell_off_bus"], ["task_blocked_d_state"], ["nccl_collective_timeout"]] == [
        [fault for fault, _ in roots(*chain[n:])] for n in range(3)
    ]


KMSG = Evidence(source="kmsg", text="Xid 79", time=1_796_000_000.0, time_error_s=2.0)


@given(st.floats(-290, 290), st.floats(0, 1800))
def test_a_skew_of_minutes_is_survived(skew: float, waited: float) -> None:
    """A log of another host may be minutes off: its timeout still follows from the lost GPU."""
    lost = finding("gpu_fell_off_bus", "critical", KMSG, stage="driver", first_seen=KMSG.time)
    at = 1_796_000_000.0 + waited + skew
    ran = Evidence(source="out.log", line=4, text="...", values={"ran_ms": int(waited * 1000)})
    timeout = finding(
        "nccl_collective_timeout", "critical", ran, stage="training", subject=LOG, first_seen=at
    )

    assert [("gpu_fell_off_bus", GPU.name)] == roots(lost, timeout)


# A neighbour on the other half of the core doubles the seconds of CPU.
@pytest.mark.serial
def test_ten_thousand_findings_join_within_a_second() -> None:
    """A node in ruins is told in time: 10,000 findings of all faults on 200 things."""
    things = [Subject(kind="gpu", name=f"0000:{n:02x}:00.0", pid=n) for n in range(200)]
    found = [
        finding(
            JOINED[number % len(JOINED)],
            ("warning", "critical")[number % 2],
            subject=things[number % len(things)],
            stage=STAGES[number % 4],
            first_seen=1_796_000_000.0 + number,
            message=f"seen as number {number}",
        )
        for number in range(10_000)
    ]
    pages = load()
    told: list[int] = []

    def join_all() -> None:
        told.append(len(join.incidents(join.explain(numbered(found)), "n", pages, None)))

    kept, took = within(1.0, join_all)
    assert (True, True) == (kept, min(told) > 0), took
