"""For 300 s after a boot what may still come up is a note; what happened stays what it is."""

import pytest

from diagnostics.check import Result
from diagnostics.finding import Finding
from diagnostics.grace import settled
from tests.diagnostics.incidents.made import NODE, finding


def result(*found: Finding) -> Result:
    return Result(
        check="network.ports",
        stage="network",
        verdict="fault",
        message=found[0].message,
        findings=found,
    )


@pytest.mark.parametrize(
    ("uptime_s", "verdict"), [(20.0, "ok"), (299.0, "ok"), (300.0, "fault"), (None, "fault")]
)
def test_a_port_may_still_come_up(uptime_s: float | None, verdict: str) -> None:
    """Within the grace it is a note of a check that is well; after it, or unknown, a fault."""
    told = settled(result(finding("ib_port_down", subject=NODE)), uptime_s)
    severity = "info" if verdict == "ok" else "critical"

    assert (verdict, severity) == (told.verdict, told.findings[0].severity)


def test_what_happened_or_does_not_come_up_is_a_fault_at_once() -> None:
    """An event is over and a lost GPU stays lost: the boot excuses neither."""
    event = finding("ib_port_down", kind="event")
    lost = finding("gpu_lost")
    told = settled(result(event, lost), 20.0)

    assert ("fault", (event, lost)) == (told.verdict, told.findings)
