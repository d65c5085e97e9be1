"""What an incident says beside its cause: the sentence, other causes, changes, what to do."""

from typing import Any

from collectors.facts.subject import Subject
from diagnostics.document import Incident, numbered
from diagnostics.finding import Evidence, Finding
from diagnostics.incidents import clauses, join
from diagnostics.incidents.clauses import said
from diagnostics.incidents.outlook import Looked
from diagnostics.knowledge.pages import load
from tests.diagnostics.incidents.made import GPU, LOG, NODE, finding, roots

AT = 1_796_000_000.0


def looked(check: str, verdict: Any, *faults: str, message: str = "all is well") -> Looked:
    return Looked(check=check, faults=faults, verdict=verdict, message=message)


def told(*found: Finding, seen: tuple[Looked, ...] = ()) -> Incident:
    findings = join.explain(numbered(found), now=AT)
    return join.incidents(findings, "gpu-017", load(), None, now=AT, looked=seen)[0]


def lost() -> Finding:
    kmsg = Evidence(source="kmsg", text="NVRM: ...", time=AT, time_error_s=2.0)
    return finding(
        "gpu_fell_off_bus",
        "critical",
        kmsg,
        stage="driver",
        first_seen=AT,
        message="GPU 3 is gone",
    )


def timeout(ranks: tuple[int, ...]) -> Finding:
    ran = Evidence(source="out.log", line=7, text="...", values={"ran_ms": 600_072})
    log = Subject(kind="log", name=LOG.name, ranks=ranks)
    return finding("nccl_collective_timeout", "critical", ran, stage="training", subject=log)


def test_the_sentence_tells_time_rank_job_and_who_waited() -> None:
    """One sentence: what failed and when, its serial, whose rank stopped, what the others did."""
    process = Subject(kind="process", name="4711", pid=4711, job="88123", rank=2)
    blocked = finding("task_blocked_d_state", "warning", subject=process)
    incident = told(lost(), blocked, timeout((0, 1, 3)))

    assert (
        "GPU 3 is gone; since 00:53:20 UTC; its serial number is 1653120004417; "
        "rank 2 of job 88123 stopped there; 3 ranks waited 600 s and gave up, all but rank 2; "
        "1 other finding follows from it."
    ) == incident.sentence


def test_other_causes_are_ruled_out_by_what_was_measured() -> None:
    """What a check saw well is ruled out; what a check was blind for is named, to look at."""
    incident = told(
        lost(),
        timeout((0, 1)),
        seen=(
            looked("network.ports", "ok", "ib_port_down", message="8 ports up at 400 Gb/s"),
            looked("storage.mounts", "unknown", "storage_hang"),
            looked("driver.kernel_log", "fault", "process_oom_killed"),
        ),
    )
    why = {one.fault: one.why for one in incident.rejected}

    assert (
        {
            "ib_port_down": "network.ports: 8 ports up at 400 Gb/s",
            "process_oom_killed": "driver.kernel_log found no sign of it",
        },
        ["storage_hang: storage.mounts could not see it"],
        "a sign of storage_hang, which storage.mounts could not look for",
    ) == (why, [step.why for step in incident.next[1:]], incident.would_change)


def test_a_blind_check_is_named_with_its_own_faults_alone() -> None:
    """What another check was blind for is a step of its own, and not said of this one."""
    blind = (
        looked("storage.mounts", "unknown", "storage_hang"),
        looked("processes.oom", "unknown", "process_oom_killed"),
    )
    incident = told(lost(), timeout((0, 1)), seen=blind)

    assert ("a sign of process_oom_killed, which processes.oom could not look for", 2) == (
        incident.would_change,
        len(incident.next[1:]),
    )


def test_a_note_of_something_else_rules_nothing_out() -> None:
    """What a check that noted another thing found no sign of is said in those words."""
    noted = Looked(
        check="driver.kernel_log",
        faults=("storage_hang",),
        verdict="ok",
        message="the link of ib2 went down",
        notes=True,
    )
    (rejected,) = told(lost(), timeout((0, 1)), seen=(noted,)).rejected

    assert ("storage_hang", "driver.kernel_log found no sign of it") == (
        rejected.fault,
        rejected.why,
    )


def test_what_is_missing_comes_with_its_exact_command() -> None:
    """The step names the fault and the command of its page, with what is known filled in."""
    incident = told(lost(), seen=(looked("driver.answers", "unknown", "gpu_count_mismatch"),))
    page = load()["gpu_fell_off_bus"]

    why = f"gpu {GPU.name} {page.title}"
    step = incident.next[0]
    assert (why, page.look) == (step.why, step.command)


def test_each_sentence_comes_with_its_text_as_data() -> None:
    """What an incident says is its template filled, so that it can be said in other languages."""
    later = finding(
        "ib_port_down", "warning", stage="network", first_seen=AT + 60, message="port 1 is down"
    )
    seen = (
        looked("network.links", "ok", "pcie_error", message="8 links at full width"),
        looked("storage.mounts", "unknown", "storage_hang"),
    )
    incident = told(lost(), later, timeout((0, 1)), seen=seen)
    pairs = [(one.why, one.text) for one in incident.rejected]
    pairs += [(one.why, one.text) for one in incident.next]
    pairs.append((incident.would_change, incident.would_change_text))

    assert [why for why, _ in pairs] == [text and said(text) for _, text in pairs]


def change(at: float, text: str) -> Evidence:
    return Evidence(source="dpkg-query", text=text, time=at)


def test_changes_of_the_day_before_are_told_the_newest_first() -> None:
    """What was put in within 24 h before it is told; what came after, or long before, is not."""
    changed = finding(
        "software_changed",
        "info",
        change(AT - 3600, "package nvidia-driver-570 570.133"),
        change(AT - 7200, "package linux-image-6.8.0-88 6.8.0-88.89"),
        change(AT + 60, "package slurmd 24.11"),
        change(AT - 90_000, "package rdma-core 50"),
        subject=NODE,
    )

    assert (
        "23:53:20 UTC package nvidia-driver-570 570.133",
        "22:53:20 UTC package linux-image-6.8.0-88 6.8.0-88.89",
    ) == told(lost(), changed).changes_before


def test_changes_are_of_the_incidents_own_parts() -> None:
    """Another GPU's firmware is none of this; where no time is known, the day before the look."""
    here, there = (
        clauses.change(
            "noted", AT - 60 * n, "firmware", name=name, subject=name, before="1", after="2"
        )
        for n, name in enumerate((f"gpu {GPU.name}", "gpu 0000:9a:00.0"), start=1)
    )
    changed = finding("node_changed", "info", here, there, subject=NODE)
    untimed = finding("gpu_clock_low", "warning", stage="driver")

    assert (f"00:52:20 UTC firmware of gpu {GPU.name} is 2, it was 1",) == told(
        untimed, changed
    ).changes_before


def test_a_job_is_started_anew_without_the_node_that_ended_it() -> None:
    """A node's fault gives the line to resubmit; a fault of the program gives none."""
    own = finding("cuda_oom", stage="training", subject=LOG)

    assert ("sbatch --exclude=gpu-017 SCRIPT", None, None) == (
        told(lost(), timeout((0, 1))).resubmit,
        told(own).resubmit,
        told(lost()).resubmit,
    )


def test_of_a_node_that_people_work_on_there_is_no_incident() -> None:
    """What failed is told as a root cause, and nobody is called for it."""
    worked_on = finding("node_under_maintenance", "info", subject=NODE)
    findings = join.explain(numbered([lost(), worked_on]), now=AT)

    assert ((), ("gpu_fell_off_bus",)) == (
        join.incidents(findings, "gpu-017", load(), None, now=AT),
        tuple(f.fault for f in findings if f.id in join.root_causes(findings, AT)),
    )


def test_a_cap_of_our_own_is_the_cause_of_slow_steps_and_no_incident() -> None:
    """What we hold down on purpose slows its job: that is said, and nobody is called for it."""
    held = finding("thermal_throttling_active", "info", stage="driver")
    slow = finding("slow_step", "warning", stage="training", subject=LOG)
    fan = finding("fan_failed", "warning", stage="driver", subject=NODE)

    assert ([], [("thermal_throttling_active", GPU.name)], [], [("fan_failed", NODE.name)]) == (
        roots(held),
        roots(held, slow),
        list(join.incidents(join.explain(numbered([held, slow])), None, load(), None)),
        roots(held, slow, fan),
    )


def test_what_was_said_often_is_counted() -> None:
    """63 watchdogs and 112 Xid 45 are two numbers and not 175 lines."""
    echo = finding("xid_45", "info", stage="driver", count=112, rule="kernel.xid_45")
    many = finding("nccl_collective_timeout", "critical", stage="training", subject=LOG, count=63)

    assert {"kernel.xid_45": 112, "nccl_collective_timeout": 63} == dict(
        told(finding("gpu_fell_off_bus", stage="driver"), echo, many).echoes
    )


def test_gpu_of_the_subject_is_the_incidents() -> None:
    """The incident is about the thing that its root is about."""
    assert GPU == told(lost(), timeout((0, 1))).subject
