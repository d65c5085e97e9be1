"""Jobs whose nodes are compared: what differs, who has left, and what cannot be."""

import pytest

from aggregator.fleet.jobs import FRESH_S, MOST_GROUPS, Jobs, usable
from aggregator.wire import Alike, Compared, JobSettings

JOB = "0123456789abcdef"


def said(jobs: Jobs, node: str, at: float = 10.0, **settings: str) -> None:
    """Take a heartbeat of a node that has one job."""
    jobs.heard(node, [JobSettings(job=JOB, settings=settings)], at, at)


def test_nodes_that_differ_are_told_by_value() -> None:
    """By setting, how many nodes have which value, and some of their names."""
    jobs = Jobs()
    for n in range(6):
        said(jobs, f"gpu-00{n}", NCCL_ALGO="Ring", NCCL_PROTO="LL")
    said(jobs, "gpu-006", NCCL_PROTO="LL")

    expected = Compared(
        nodes=7,
        differing={
            "NCCL_ALGO": (
                Alike("Ring", 6, ("gpu-000", "gpu-001", "gpu-002", "gpu-003")),
                Alike(None, 1, ("gpu-006",)),
            )
        },
    )
    assert {JOB: expected} == jobs.compared([JOB, "f" * 16], 11.0)


def test_nodes_that_are_alike_differ_in_nothing() -> None:
    """How many they are is told; of a job that one node alone tells of, nothing."""
    jobs = Jobs()
    said(jobs, "gpu-000", NCCL_ALGO="Ring")
    alone = jobs.compared([JOB], 10.0)
    said(jobs, "gpu-001", NCCL_ALGO="Ring")

    assert ({}, {JOB: Compared(nodes=2)}) == (alone, jobs.compared([JOB], 10.0))


def test_a_node_that_has_another_job_has_left() -> None:
    """What a heartbeat names no more, or sets otherwise by now, is forgotten."""
    jobs = Jobs()
    said(jobs, "gpu-000", NCCL_ALGO="Ring")
    said(jobs, "gpu-001", NCCL_ALGO="Tree")
    said(jobs, "gpu-002", NCCL_ALGO="Ring")
    said(jobs, "gpu-001", 40.0, NCCL_ALGO="Ring")
    changed = jobs.compared([JOB], 40.0)
    jobs.heard("gpu-002", [], 40.0, 40.0)
    jobs.heard("gpu-001", [], 40.0, 40.0)

    assert ({JOB: Compared(nodes=3)}, {}) == (changed, jobs.compared([JOB], 40.0))


def test_a_node_that_is_silent_is_let_go() -> None:
    """Two minutes without a heartbeat, and it is no part of the job for others."""
    jobs = Jobs()
    for node in ("gpu-000", "gpu-001", "gpu-002"):
        said(jobs, node, NCCL_ALGO="Ring" if node < "gpu-002" else "Tree")
    for node in ("gpu-000", "gpu-001"):
        said(jobs, node, 10.0 + FRESH_S, NCCL_ALGO="Ring")

    assert {JOB: Compared(nodes=2)} == jobs.compared([JOB], 10.5 + FRESH_S)


def test_a_late_heartbeat_changes_nothing() -> None:
    """What was said before the newest word and comes after it is not taken."""
    jobs = Jobs()
    said(jobs, "gpu-000", 40.0, NCCL_ALGO="Ring")
    said(jobs, "gpu-001", 40.0, NCCL_ALGO="Ring")
    said(jobs, "gpu-001", 10.0, NCCL_ALGO="Tree")

    assert {JOB: Compared(nodes=2)} == jobs.compared([JOB], 41.0)


def test_where_every_node_differs_nothing_is_compared() -> None:
    """Settings that each node has for itself are no setting of the job."""
    jobs = Jobs()
    for n in range(MOST_GROUPS + 1):
        said(jobs, f"gpu-{n}", NCCL_IB_HCA=f"mlx5_{n}")

    assert {} == jobs.compared([JOB], 10.0)


@pytest.mark.parametrize(
    ("job", "settings"),
    [
        ("88123", {}),
        (JOB, {"PATH": "x"}),
        (JOB, {"NCCL_ALGO": "a b"}),
        (JOB, {"NCCL_ALGO": "x" * 81}),
        (JOB, {f"NCCL_{n}": "1" for n in range(33)}),
    ],
)
def test_what_no_agent_sends_is_left_out(job: str, settings: dict[str, str]) -> None:
    """Jobs by their own id, other names, sentences, and too many of them."""
    assert () == usable([JobSettings(job=job, settings=settings)])
