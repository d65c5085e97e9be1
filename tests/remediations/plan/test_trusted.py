"""Which evidence no user of the node can write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.subject import Subject
from diagnostics.finding import Evidence, Finding, Stage, Text
from remediations.plan.trusted import trusted

GPU = Subject(kind="gpu", name="0000:4e:00.0")


def finding(
    *evidence: Evidence, check: str = "driver.kernel_log", stage: Stage = "driver"
) -> Finding:
    return Finding(
        fault="gpu_fell_off_bus",
        severity="critical",
        subject=GPU,
        message="m",
        text=Text(key="k"),
        evidence=evidence,
        check=check,
        stage=stage,
    )


@pytest.mark.parametrize(
    "source",
    [
        "kmsg",
        "NVML",
        "nvmlDeviceGetFieldValues",
        "/sys/bus/pci/devices/0000:4e:00.0/uevent",
        "/sys/module/nvidia/version",
        "/var/lib/systemd/pstore/1795999/dmesg.txt",
        "/proc/218733/fd",
        "/proc/mdstat",
        "ipmitool raw 0x04 0x2d 0xc4",
        "scontrol show node",
        "scontrol listpids",
    ],
)
def test_kernel_driver_bmc_and_scheduler_are_believed(source: str) -> None:
    """They say it themselves, and users have no hand in it."""
    assert 1 == len(trusted(finding(Evidence(source=source))))


@pytest.mark.parametrize(
    "source",
    [
        "train-88123.log",
        "/var/log/kern.log",
        "/var/log/messages",
        "syslog",
        "journald",
        "journalctl --boot=-1",
        "/proc/218731/environ",
        "/proc/218731/cmdline",
        "/proc/../home/u/fd",
        "/sys/../home/u/kmsg",
        "/sys/class/../../home/u/kmsg",
        "/etc/slurm/slurm.conf",
        "NVML.log",
        "kmsg.txt",
        "nvml-trace.txt",
        "steps before it",
        "gpudiag",
        "",
    ],
)
def test_text_that_users_write_is_not(source: str) -> None:
    """A log, an environment, a command line, a file: whatever it says."""
    assert () == trusted(finding(Evidence(source=source)))


def test_a_line_of_a_file_is_no_kernel_record() -> None:
    """A file may be called as the kernel's own device is."""
    assert () == trusted(finding(Evidence(source="kmsg", line=12)))


def test_what_a_program_wrote_into_the_kernels_log_is_not_the_kernels() -> None:
    """A container's root can write to /dev/kmsg."""
    assert () == trusted(finding(Evidence(source="kmsg", values={"by_program": True})))


@pytest.mark.parametrize(
    ("check", "stage"), [("training.symptoms", "training"), ("text.tools", "driver")]
)
def test_a_check_of_text_has_no_evidence_that_is_believed(check: str, stage: Stage) -> None:
    """Whatever the source that it names."""
    assert () == trusted(finding(Evidence(source="NVML"), check=check, stage=stage))


@given(st.text(max_size=60))
def test_a_name_of_a_log_is_never_taken_for_the_kernel(name: str) -> None:
    """A file is named by its path or its name, and its lines are numbered."""
    assert () == trusted(finding(Evidence(source=name, line=1)))
