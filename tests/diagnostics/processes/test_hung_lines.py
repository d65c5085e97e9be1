"""The kernel's hung-task lines, and what only looks like one."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.checks.processes.blocked import hung_tasks


def log(*texts: str, facility: int = 0) -> KernelLog:
    records = (
        Record(sequence=n, boot_s=float(n), level=3, facility=facility, text=text)
        for n, text in enumerate(texts)
    )
    return KernelLog(records=tuple(records))


def test_the_last_line_of_a_task_counts() -> None:
    """The kernel repeats it with a longer time; the name may hold colons and blanks."""
    lines = (
        "INFO: task kworker/u513:2+nv:9:18 blocked for more than 122 seconds.",
        "INFO: task ray::Train wor:4100 blocked for more than 122 seconds.",
        "INFO: task ray::Train wor:4100 blocked for more than 245 seconds.",
        "      Not tainted 6.8.0-60-generic #63-Ubuntu",
    )
    found = hung_tasks(log(*lines))

    expected = {18: ("kworker/u513:2+nv:9", 122.0), 4100: ("ray::Train wor", 245.0)}
    assert expected == {pid: (line.comm, line.seconds) for pid, line in found.items()}


def test_what_a_program_wrote_is_no_word_of_the_kernel() -> None:
    """Anyone with the right to write /dev/kmsg can write such a line; its facility tells."""
    line = "INFO: task python:4100 blocked for more than 122 seconds."

    assert {} == hung_tasks(log(line, facility=1))


@given(st.text())
def test_any_line_is_read_or_passed_over(text: str) -> None:
    """No text of the ring raises."""
    assert len(hung_tasks(log(text))) <= 1


@given(st.text(min_size=1, max_size=15), st.integers(1, 2**22), st.integers(1, 10**6))
def test_name_pid_and_time_come_back_as_they_went_in(comm: str, pid: int, seconds: int) -> None:
    """Whatever a process calls itself, its pid is the number before the words."""
    if "\n" in comm:
        comm = comm.replace("\n", "?")
    line = f"INFO: task {comm}:{pid} blocked for more than {seconds} seconds."
    found = hung_tasks(log(line))

    assert {pid: (comm, float(seconds))} == {p: (h.comm, h.seconds) for p, h in found.items()}
