"""What a job's log says is of that job, and carries the time of its line."""

from collectors.facts.observation import Missing, Observation
from collectors.facts.subject import Subject
from diagnostics.checks.training.network import network
from diagnostics.checks.training.symptoms import symptoms
from diagnostics.document import numbered
from diagnostics.finding import Finding
from diagnostics.incidents import join
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs

Seen = dict[type[Observation], Observation | Missing]
HALF_A_DAY = 14 * 3600.0


def log(job: str | None, fault: str) -> LogSeen:
    """Return a log of one line, whose time says no zone."""
    hit = Hit(
        rule=f"x.{fault}",
        fault=fault,
        severity="critical",
        kind="event",
        about="log",
        template="t",
        line=3,
        text="a line",
        last_line=3,
        first_seen=1_796_000_000.0,
        time_error_s=HALF_A_DAY,
    )
    return LogSeen(name=f"{job}-{fault}.log", job=job, lines=9, hits=(hit,))


def told(*logs: LogSeen) -> tuple[Finding, ...]:
    """Return what the checks of GPUs and of the network find in some logs, joined."""
    seen: Seen = {TrainingLogs: TrainingLogs(logs=logs)}
    found = (*symptoms.run(seen).findings, *network.run(seen).findings)
    return join.explain(numbered(found))


def roots(*logs: LogSeen) -> list[tuple[str, str | None]]:
    """Return fault and job of what is left as a root."""
    found = {one.id: one for one in told(*logs)}
    return [
        (found[name].fault, found[name].subject.job)
        for name in join.root_causes(tuple(found.values()))
    ]


def test_the_log_of_another_job_explains_nothing() -> None:
    """One job runs out of memory while another one's peers close: two incidents."""
    both = roots(log("90417", "cuda_oom"), log("90418", "nccl_remote_peer_closed"))
    assert {("cuda_oom", "90417"), ("nccl_remote_peer_closed", "90418")} == set(both)


def test_two_logs_of_one_job_are_joined() -> None:
    """The same two lines, each in a log of one job."""
    both = roots(log("90417", "cuda_oom"), log("90417", "nccl_remote_peer_closed"))
    assert [("cuda_oom", "90417")] == both


def test_one_fault_of_two_jobs_is_told_for_each() -> None:
    """Two jobs that run out of memory are two findings, each about its own log."""
    found = told(log("90417", "cuda_oom"), log("90418", "cuda_oom"))
    assert ["90417", "90418"] == sorted(str(one.subject.job) for one in found)


def test_a_quoted_line_has_its_time_and_how_well_it_is_known() -> None:
    """A stamp without a zone may be half a day off, and says so."""
    (found,) = told(log(None, "cuda_oom"))
    assert (1_796_000_000.0, HALF_A_DAY, Subject(kind="log", name="None-cuda_oom.log")) == (
        found.evidence[0].time,
        found.evidence[0].time_error_s,
        found.subject,
    )
