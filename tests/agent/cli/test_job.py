"""`gpudiag job` tells of one job, and says clearly where it is not here."""

import os
import subprocess
import sys
from typing import Any

import pytest

from agent.walk.of_job import Job, of_job
from diagnostics.document import Document

JOB = Job(
    name="90417",
    pids=frozenset({5119}),
    ranks=(0,),
    minors=frozenset({0}),
    logs=frozenset({"/scratch/r/out.log"}),
)


def finding(number: int, fault: str, severity: str = "critical", **more: Any) -> dict[str, Any]:
    """Return a finding as a document holds it."""
    subject = more.pop("subject", {"kind": "node", "name": "gpu-017"})
    told = {"id": f"f{number}", "fault": fault, "severity": severity, "subject": subject}
    return {**told, "evidence": [], "explained_by": None, **more}


def document(*findings: dict[str, Any]) -> Document:
    """Return a document of a node with these findings."""
    return Document(
        product="gpudiag",
        node="gpu-017",
        boot_id=None,
        started=None,
        seconds=None,
        verdict="fault",
        stages=(),
        findings=findings,
        root_causes=tuple(one["id"] for one in findings),
    )


OTHER = finding(1, "nan_loss", subject={"kind": "log", "name": "/b.log"})
OWN_LOG = finding(
    2,
    "nan_loss",
    subject={"kind": "log", "name": "/scratch/r/out.log"},
    evidence=[{"source": "/scratch/r/out.log from byte 1048577"}],
)
OWN_GPU = finding(
    3,
    "gpu_thermal_slowdown",
    "warning",
    subject={"kind": "gpu", "name": "0000:1b:00.0", "index": 0},
)
CAUSE = finding(4, "storage_hang")
OWN_RANK = finding(
    5, "rank_missing", subject={"kind": "rank", "name": "0", "pid": 5119}, explained_by="f4"
)


@pytest.mark.parametrize(
    ("findings", "kept", "verdict"),
    [
        ((OTHER,), [], "ok"),
        ((OTHER, OWN_LOG), ["f2"], "fault"),
        ((OTHER, OWN_GPU), ["f3"], "warning"),
        ((OTHER, CAUSE, OWN_RANK), ["f4", "f5"], "fault"),
    ],
)
def test_what_is_the_jobs_own_is_kept_with_its_causes(
    findings: tuple[dict[str, Any], ...], kept: list[str], verdict: str
) -> None:
    """Its logs, GPUs and ranks, and what explains those; no other job's trouble."""
    own = of_job(document(*findings), JOB)
    told = ([one["id"] for one in own.findings], list(own.root_causes), own.verdict)
    assert (kept, kept, verdict) == told


@pytest.mark.root
def test_a_job_that_is_not_here_is_one_clear_line() -> None:
    """It says so, and where to ask instead."""
    argv = [sys.executable, "-m", "agent", "job", "987654321"]
    ran = subprocess.run(
        argv, capture_output=True, text=True, timeout=60, check=False, env=os.environ
    )
    said = ran.stderr.splitlines()
    assert (64, "error: job 987654321 has no rank on this node") == (ran.returncode, said[0])
