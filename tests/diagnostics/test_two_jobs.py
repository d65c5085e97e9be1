"""Two jobs of one node each have a rank 1: what befalls one is no cause of the other's trouble."""

import msgspec

from collectors.facts.subject import Subject
from diagnostics.document import numbered
from diagnostics.finding import Finding, found
from diagnostics.incidents.join import explain


def missing(job: str, check: str, severity: str = "critical") -> Finding:
    """Return that rank 1 of a job is missing, as one check says it."""
    one = found(
        "rank_missing",
        "critical" if severity == "critical" else "warning",
        Subject(kind="rank", name="1", rank=1, job=job),
        "rank 1 of {job}",
        job=job,
    )
    return msgspec.structs.replace(one, stage="training", check=check)


def test_two_checks_on_one_rank_are_one_and_two_jobs_are_two() -> None:
    """Of one job the surer word leads; the other job's rank stands for itself."""
    told = explain(
        numbered(
            [
                missing("90417", "training.flight_recorder"),
                missing("90417", "training.ranks", "warning"),
                missing("90418", "training.ranks", "warning"),
            ]
        )
    )
    roots = sorted((f.subject.job or "", f.check) for f in told if f.explained_by is None)
    assert [("90417", "training.flight_recorder"), ("90418", "training.ranks")] == roots
