"""Jobs that go NaN, hang, lose a rank or disagree are diagnosed while they run."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.lab.torch.conftest import ROOT, Job, Walk, until

pytestmark = [pytest.mark.root, pytest.mark.timeout(280)]

Finding = dict[str, Any]


def about(job: Job, document: Mapping[str, Any]) -> list[Finding]:
    """Return the findings above info that are about a job, or quote its log."""
    return [
        finding
        for finding in document["findings"]
        if finding["severity"] != "info"
        and (
            finding["subject"].get("job") == job.name
            or any(evidence["source"] == str(job.log) for evidence in finding["evidence"])
        )
    ]


def faults(job: Job, document: Mapping[str, Any]) -> set[str]:
    """Return the faults of a job."""
    return {finding["fault"] for finding in about(job, document)}


def root(job: Job, document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return fault and subject of what nothing else explains."""
    return {
        (finding["fault"], f"{finding['subject']['kind']} {finding['subject']['name']}")
        for finding in about(job, document)
        if finding["explained_by"] is None
    }


def test_a_loss_that_is_nan_is_found_in_the_log_of_the_running_job(
    jobs: Mapping[str, Job], walk: Walk
) -> None:
    """Nobody names the log: it is what the ranks have open as output."""
    job = jobs["nan"]
    document = until(walk, lambda seen: faults(job, seen), 90)
    assert {("nan_loss", f"log {job.log}")} == root(job, document)


def test_a_killed_rank_is_told_by_who_is_left(jobs: Mapping[str, Job], walk: Walk) -> None:
    """The rank that is left says whose connection closed; that it stands still follows."""
    job = jobs["killed"]
    document = until(walk, lambda seen: "training_hang" in faults(job, seen), 120)
    told = {fault for fault, _ in root(job, document)}
    assert ({"gloo_connection_closed"}, True) == (
        told,
        "training_hang" in faults(job, document),
    ), job.state()


def test_the_hanging_rank_is_named_by_the_flight_recorder(
    jobs: Mapping[str, Job], walk: Walk
) -> None:
    """Rank 1 did not call what rank 0 waits in, and what its process does is said with it."""
    job = jobs["hang"]
    document = until(walk, lambda seen: "rank_missing" in faults(job, seen), 120)
    (found,) = [f for f in about(job, document) if f["fault"] == "rank_missing"]
    told = (found["subject"]["rank"], "sleeps in code of its own" in found["message"])
    assert (1, True) == told


def test_ranks_that_disagree_are_told_what_each_called(jobs: Mapping[str, Job], walk: Walk) -> None:
    """One rank broadcasts where the other reduces; gloo itself only says that time is over."""
    job = jobs["disagree"]
    document = until(walk, lambda seen: "nccl_collective_desync" in faults(job, seen), 180)
    (found,) = [f for f in about(job, document) if f["fault"] == "nccl_collective_desync"]
    assert "rank 0 gloo:all_reduce of 520, rank 1 gloo:broadcast" in found["message"]


def test_the_hanging_rank_is_named_by_its_process_where_no_dump_is(
    jobs: Mapping[str, Job], walk: Walk
) -> None:
    """A minute after the suspicion the rank that sleeps while the other waits is named."""
    job = jobs["silent"]
    document = until(walk, lambda seen: "rank_missing" in faults(job, seen), 200)
    named = [f["subject"]["rank"] for f in about(job, document) if f["fault"] == "rank_missing"]
    assert [1] == named


def test_the_job_that_goes_on_has_no_finding(jobs: Mapping[str, Job], walk: Walk) -> None:
    """Beside five sick jobs, the one that trains is well."""
    assert [] == about(jobs["well"], walk())


def test_job_says_of_one_job_what_is_its_own(jobs: Mapping[str, Job]) -> None:
    """Beside a job that hangs and one whose loss is NaN, each is told its own trouble alone."""
    told = {}
    for mode in ("hang", "nan", "well"):
        argv = [sys.executable, "-m", "agent", "job", jobs[mode].name.split()[1], "--json"]
        ran = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=90, check=False)
        found = json.loads(ran.stdout)["findings"]
        told[mode] = {f["fault"] for f in found if f["severity"] != "info"} & {
            *("training_hang", "rank_missing", "nan_loss"),
        }
    expected = {"hang": {"training_hang", "rank_missing"}, "nan": {"nan_loss"}, "well": set()}
    assert expected == told
