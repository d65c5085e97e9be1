"""R11: a node whose clock is wrong: its reports keep their order, and how wrong it is is shown."""

import pytest

from tests.aggregator.conftest import Box
from tests.aggregator.reports import NOW, lines, report, snapshot

DAY_S = 86_400.0


async def told(box: Box, *sent: float) -> dict[str, object]:
    """Send snapshots whose clock said *sent*, a fault in all but the last; return the node."""
    credential = await box.credential("node", "gpu-001")
    found = {"id": "f1", "fault": "gpu_lost", "severity": "critical", "message": "left the bus"}
    for number, at in enumerate(sent, 1):
        last = number == len(sent)
        diagnosis = {"schema": "gpudiag.diagnosis/1", "findings": [] if last else [found]}
        verdict = "ok" if last else "fault"
        said = snapshot(number, sent=at, diagnosis=diagnosis, verdict=verdict)
        await box.send("POST", "/v1/reports", credential, data=lines([said]))
    viewer = await box.credential("viewer")
    node: dict[str, object] = (await box.send("GET", "/v1/nodes/gpu-001", viewer))[1]
    return node


@pytest.mark.parametrize(
    ("sent", "offset"),
    [
        pytest.param((NOW, NOW + DAY_S), DAY_S, id="a day ahead"),
        pytest.param((NOW, NOW - DAY_S), -DAY_S, id="a day behind"),
        pytest.param((NOW + DAY_S, NOW + 10, NOW), 0.0, id="stepped back twice"),
        pytest.param((NOW - 7 * DAY_S, NOW), 0.0, id="slept for a week"),
    ],
)
async def test_a_wrong_clock(box: Box, sent: tuple[float, ...], offset: float) -> None:
    """The last report by its number holds, at our time; the clock's error is in the document."""
    node = await told(box, *sent)

    assert ("ok", "ok", [], offset, 0.0, []) == (
        node["state"],
        node["verdict"],
        node["findings"],
        node["clock_offset_s"],
        node["age_s"],
        node["events"],
    )


async def test_a_late_report_of_a_clock_that_was_ahead(box: Box) -> None:
    """What comes late by its number changes nothing, though by its clock it is of tomorrow."""
    await told(box, NOW, NOW + 5, NOW + 10)
    credential = await box.credential("node", "gpu-001")
    late = [report(0, sent=NOW + DAY_S, verdict="fault", kind="change")]
    await box.send("POST", "/v1/reports", credential, data=lines(late))
    viewer = await box.credential("viewer")
    node = (await box.send("GET", "/v1/nodes/gpu-001", viewer))[1]

    assert ("ok", 10.0) == (node["verdict"], node["clock_offset_s"])
