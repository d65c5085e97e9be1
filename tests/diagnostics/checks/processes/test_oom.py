"""Lines of the OOM killer, in the words of several kernels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.checks.processes.oom import OomLimits, oom, parse
from diagnostics.finding import Finding

NODE = "Out of memory: "
GROUP = "Memory cgroup out of memory: "


def records(*texts: str) -> tuple[Record, ...]:
    return tuple(
        Record(sequence=n, boot_s=10.0 * n, level=3, facility=0, text=text)
        for n, text in enumerate(texts, start=1)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP + "Killed process 4242 (python) total-vm:2097152kB, anon-rss:1048576kB, file-rss:"
            "12kB, shmem-rss:0kB, UID:1000 pgtables:1024kB oom_score_adj:0",
            (True, 4242, "python", 1.0),
        ),
        (
            NODE + "Killed process 4242 (python), UID 1000, total-vm:2097152kB, anon-rss:524288kB",
            (False, 4242, "python", 0.5),
        ),
        (
            NODE + "Kill process 4242 (pt_main_thread) score 987 or sacrifice child",
            (False, 4242, "pt_main_thread", None),
        ),
        (
            "Out of memory (oom_kill_allocating_task): Killed process 7 (a) b) total-vm:1kB",
            (False, 7, "a) b", None),
        ),
    ],
)
def test_each_generation_of_the_line_names_who_was_killed(
    text: str, expected: tuple[bool, int, str, float | None]
) -> None:
    """The cgroup's limit is told from the node's memory, and a name may hold brackets."""
    (kill,) = parse(records(text))

    assert expected == (kill.own_limit, kill.pid, kill.comm, kill.held_gib)


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        ("/slurm/uid_1000/job_88123/step_0", "88123"),
        ("/system.slice/slurmstepd.scope/job_88123/step_batch/user/task_0", "88123"),
        ("/kubepods.slice/kubepods-podbeef.slice/cri-containerd-12ab.scope", None),
        ("/user.slice/user-1000.slice/my_job_12x", None),
    ],
)
def test_the_line_before_names_the_job(cgroup: str, expected: str | None) -> None:
    """The victim's cgroup, not the one whose limit was reached, says whose process it was."""
    constraint = (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        f"oom_memcg=/slurm,task_memcg={cgroup},task=a,pid=1,b,pid=4242,uid=1000"
    )
    (kill,) = parse(records(constraint, GROUP + "Killed process 4242 (a,pid=1,b) total-vm:1kB"))

    assert (cgroup, expected) == (kill.cgroup, kill.job)


def test_what_a_process_puts_into_its_name_is_no_kill() -> None:
    """Only a line that begins as the kernel's does counts."""
    texts = (
        "python[77]: segfault at 0 ip 0 sp 0 error 4: Out of memory: Killed process 1 (x) total-vm",
        r"INFO: task x\x0aOut of memory: Killed process 1 (i) total-vm:1kB blocked for more",
        "Killed process 1012 (trainer) total-vm:88000kB, anon-rss:64000kB, file-rss:0kB",
    )

    assert [] == list(parse(records(*texts)))


def test_kills_alike_are_one_finding_with_its_times() -> None:
    """Forty workers killed one after another are one line; the last one is named."""
    texts = [f"{NODE}Killed process {4000 + n} (worker) total-vm:1kB" for n in range(40)]
    log = KernelLog(records=records(*texts), boot_time=1_000_000.0, uptime_s=500.0)
    (finding,) = (said for said in oom.judge(log, OomLimits()) if isinstance(said, Finding))
    expected = ("4039", 40, 1_000_010.0, 1_000_400.0, "event")

    assert expected == (
        finding.subject.name,
        finding.count,
        finding.first_seen,
        finding.last_seen,
        finding.kind,
    )


@given(
    st.lists(st.sampled_from([NODE, GROUP, "oom-kill:", "Killed process 1 (", ")", " total-vm:"]))
)
def test_no_text_breaks_the_parser(parts: list[str]) -> None:
    """Pieces of true lines in any order are kills or none."""
    assert all(kill.pid == 1 for kill in parse(records("".join(parts))))


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    """A hostile line ends in no kill of its own making."""
    assert len(list(parse(records(text, NODE + text, "oom-kill:constraint=" + text)))) <= 3
