"""Logs of healthy machines give notes at most, in whatever form they are given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cli.log_files import diagnose
from tests.healthy import (
    Said,
    both,
    dgx_boot,
    dmesg,
    dmesg_t,
    dmesg_x,
    epyc_boot,
    grace_boot,
    journal,
    journal_iso,
    kmsg,
    plain_boot,
    syslog,
)

LONG = 300
FORMS = [dmesg, dmesg_t, dmesg_x, kmsg, journal, journal_iso, both]
BOOTS = [dgx_boot, plain_boot, epyc_boot, grace_boot]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("said", BOOTS, ids=lambda said: said.__name__)
def test_a_healthy_boot(
    said: Callable[[], list[Said]], form: Callable[[list[Said]], str], tmp_path: Path
) -> None:
    """A boot and a day after it: links that come up, servers that come back, corrected errors."""
    lines = said()
    file = tmp_path / "boot.log"
    file.write_text(form(lines))
    document = diagnose([str(file)])
    loud = [(f["fault"], f["message"]) for f in document.findings if f["severity"] != "info"]

    assert ("ok", [], True) == (document.verdict, loud, len(lines) >= LONG)


@pytest.mark.parametrize("form", [journal, journal_iso], ids=lambda form: form.__name__)
def test_an_ordinary_syslog(form: Callable[[list[Said]], str], tmp_path: Path) -> None:
    """A day of services, logins, pods and jobs; what a program says is not the kernel's word."""
    lines = syslog()
    file = tmp_path / "syslog"
    file.write_text(form(lines))
    document = diagnose([str(file)])
    loud = [(f["fault"], f["message"]) for f in document.findings if f["severity"] != "info"]

    assert ("ok", [], True) == (document.verdict, loud, len(lines) >= LONG)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_same_boot_with_one_fault_is_ill(
    form: Callable[[list[Said]], str], tmp_path: Path
) -> None:
    """The silence above is no deafness."""
    lines = [*dgx_boot(), (9000.0, "kernel", "XFS (nvme1n1p1): log I/O error -5")]
    file = tmp_path / "boot.log"
    file.write_text(form(lines))
    loud = [f["fault"] for f in diagnose([str(file)]).findings if f["severity"] != "info"]

    assert ["read_only_filesystem"] == loud
