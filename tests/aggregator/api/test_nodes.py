"""Nodes as the API shows them: state with age, findings, parts, history, pages."""

from typing import Any

import pytest

from tests.aggregator.conftest import Box
from tests.aggregator.reports import GPU, lines, report, snapshot


async def tell(box: Box, *reports: Any, node: str = "gpu-001") -> None:
    """Send reports as a node."""
    headers = await box.credential("node", node)
    status, answer = await box.send("POST", "/v1/reports", headers, data=lines(reports))
    assert (200, []) == (status, list(answer.get("rejected", ()))), answer


async def seen(box: Box, node: str = "gpu-001") -> Any:
    """Return a node as a viewer sees it."""
    return (await box.send("GET", f"/v1/nodes/{node}", await box.credential("viewer")))[1]


@pytest.mark.parametrize(("age", "state"), [(90, "ok"), (91, "late"), (300, "late"), (301, "lost")])
async def test_age(box: Box, age: float, state: str) -> None:
    """A node is late after 90 s of silence and lost after 300 s, and its age is told."""
    await tell(box, report())
    box.now += age
    node = await seen(box)
    assert (state, age) == (node["state"], node["age_s"])


async def test_heartbeat_renews(box: Box) -> None:
    """A heartbeat makes a lost node well again."""
    await tell(box, report(1))
    box.now += 1000
    await tell(box, report(2))
    assert ("ok", 0) == ((await seen(box))["state"], (await seen(box))["age_s"])


async def test_own_absence(box: Box) -> None:
    """Nobody is lost because the aggregator itself was away; the age stays true."""
    await tell(box, report())
    box.now += 4000
    await box.restart()
    box.now += 60
    node = await seen(box)
    assert ("ok", 4060) == (node["state"], node["age_s"])


async def test_maintenance(box: Box) -> None:
    """A node under maintenance is not lost, with the reason, until its time is over."""
    await tell(box, report())
    operator = await box.credential("operator")
    asked = {"node": "gpu-001", "hours": 2, "reason": "new fans"}
    await box.send("POST", "/v1/maintenance", operator, json=asked)
    box.now += 3600
    during = await seen(box)
    listed = await box.send("GET", "/v1/maintenance", operator)
    box.now += 3601
    after = await seen(box)
    assert ("maintenance", "new fans", 1, "lost", None) == (
        during["state"],
        during["maintenance_reason"],
        len(listed[1]["items"]),
        after["state"],
        after["maintenance_reason"],
    )


async def test_a_node_is_told_that_people_work_on_it(box: Box) -> None:
    """The answer to its next report says until when and why, also after a restart, and the end."""
    await tell(box, report(1))
    operator = await box.credential("operator")
    asked = {"node": "gpu-001", "hours": 2, "reason": "new fans"}
    await box.send("POST", "/v1/maintenance", operator, json=asked)
    told = [await receipt(box, 2)]
    await box.aggregator.start()
    told += [await receipt(box, 3)]
    await box.send("POST", "/v1/maintenance", operator, json={**asked, "hours": 0})
    told += [await receipt(box, 4)]
    until = box.now + 7200.0

    assert [(until, "new fans")] * 2 + [None] == [
        (one["until"], one["reason"]) if one else None for one in told
    ]


async def receipt(box: Box, sequence: int) -> Any:
    """Return what the answer to a report says of maintenance."""
    headers = await box.credential("node", "gpu-001")
    body = lines([report(sequence)])
    return (await box.send("POST", "/v1/reports", headers, data=body))[1].get("maintenance")


async def test_maintenance_ends(box: Box) -> None:
    """Zero hours end a maintenance."""
    await tell(box, report())
    operator = await box.credential("operator")
    for hours in (2, 0):
        asked = {"node": "gpu-001", "hours": hours, "reason": "new fans"}
        await box.send("POST", "/v1/maintenance", operator, json=asked)
    assert "ok" == (await seen(box))["state"]


async def test_snapshot(box: Box) -> None:
    """A snapshot brings findings, parts by serial, versions, and where the node stands."""
    await tell(box, snapshot(1, sent=box.now - 3))
    node = await seen(box)
    assert ("fault", ["gpu_lost"], ["BRD-77", GPU], {"driver": "580.65.06"}, -3) == (
        node["verdict"],
        [finding["fault"] for finding in node["findings"]],
        [part["serial"] for part in node["parts"]],
        node["versions"],
        node["clock_offset_s"],
    )
    assert ["rack=r01", "rail=su1-0"] == node["places"]


async def test_stages(box: Box) -> None:
    """Ages of stages are the newest heartbeat's, and grow; what can be none is left out."""
    known = await seen_after(box, {"driver": 4.0, "network": 9.5, "training": -1.0, "x" * 50: 1.0})
    box.now += 20
    later = (await seen(box))["stages_s"]
    await tell(box, report(1, stages_s={"driver": 0.5}, sent=box.now - 500))
    late = (await seen(box))["stages_s"]
    await box.restart()
    forgotten = (await seen(box))["stages_s"]

    assert (
        {"driver": 4.0, "network": 9.5},
        {"driver": 24.0, "network": 29.5},
        {"driver": 24.0, "network": 29.5},
        {},
    ) == (known, later, late, forgotten)


async def seen_after(box: Box, stages_s: dict[str, float]) -> Any:
    """Return the stages of a node that has just told so."""
    await tell(box, snapshot(1), report(2, stages_s=stages_s))
    return (await seen(box))["stages_s"]


async def test_change(box: Box) -> None:
    """A change adds findings and clears others, by fingerprint or by id."""
    new = {"id": "f2", "fingerprint": "abc", "fault": "ib_port_down"}
    await tell(box, snapshot(1), report(2, kind="change", findings=(new,), cleared=("f1",)))
    between = [finding["fault"] for finding in (await seen(box))["findings"]]
    await tell(box, report(3, kind="change", cleared=("abc",)))
    assert (["ib_port_down"], []) == (between, (await seen(box))["findings"])


async def test_lost_change_heals(box: Box) -> None:
    """State is right again with the next snapshot, whatever change was lost."""
    await tell(box, snapshot(1))
    await tell(box, snapshot(7, verdict="ok", diagnosis={"findings": []}))
    node = await seen(box)
    assert ("ok", []) == (node["verdict"], node["findings"])


async def test_late_report(box: Box) -> None:
    """What comes late is kept, and takes nothing back that was said after it."""
    await tell(box, snapshot(5, verdict="ok", diagnosis={"findings": []}))
    await tell(box, snapshot(4))
    _, history = await box.send("GET", "/v1/nodes/gpu-001/history", await box.credential("viewer"))
    assert ("ok", [4, 5]) == (
        (await seen(box))["verdict"],
        [past["sequence"] for past in history["items"]],
    )


async def test_reboot(box: Box) -> None:
    """A new boot counts anew; what the old one still had to say changes nothing."""
    await tell(box, snapshot(900))
    await tell(box, report(1, boot_id="b-2", kind="change", sent=box.now + 100, verdict="ok"))
    await tell(box, snapshot(901))
    node = await seen(box)
    assert ("b-2", "ok", []) == (node["boot_id"], node["verdict"], node["events"])


async def test_dropped(box: Box) -> None:
    """Dropped reports are added up, once each."""
    await tell(box, report(1, dropped=3), report(1, dropped=3), report(2, dropped=4))
    assert 7 == (await seen(box))["dropped"]


async def test_pages(box: Box) -> None:
    """Nodes come by name, in pages; every node once."""
    names = [f"gpu-{n:03}" for n in (5, 1, 4, 2, 3)]
    for name in names:
        await tell(box, report(node=name), node=name)
    viewer = await box.credential("viewer")
    found, query = [], "limit=2"
    while query:
        _, page = await box.send("GET", f"/v1/nodes?{query}", viewer)
        found.append([node["node"] for node in page["items"]])
        query = f"limit=2&cursor={page['next']}" if page["next"] else ""
    assert [["gpu-001", "gpu-002"], ["gpu-003", "gpu-004"], ["gpu-005"]] == found


async def test_history_pages(box: Box) -> None:
    """History comes newest first, in pages; heartbeats are not in it."""
    await tell(box, *(snapshot(n) for n in range(5)), report(9))
    viewer = await box.credential("viewer")
    found, query = [], "limit=2"
    while query:
        _, page = await box.send("GET", f"/v1/nodes/gpu-001/history?{query}", viewer)
        found += [past["sequence"] for past in page["items"]]
        query = f"limit=2&cursor={page['next']}" if page["next"] else ""
    assert [4, 3, 2, 1, 0] == found


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/v1/nodes/none", 404, "there is nothing of this name"),
        ("/v1/none", 404, "there is nothing of this name"),
        ("/v1/nodes?limit=0", 422, "limit: "),
        ("/v1/nodes?limit=x", 422, "limit: "),
        ("/v1/nodes?filter=x", 422, "filter: "),
        ("/v1/nodes?limit=1&limit=2", 400, "query: a key stands twice"),
        ("/v1/nodes?cursor=%ff", 400, "cursor: "),
        ("/v1/nodes/gpu-001/history?cursor=eA==", 400, "cursor: "),
        ("/v1/nodes?cursor=" + "a" * 500, 422, "cursor: "),
        ("/v1/nodes?cursor=" + "a" * 3000, 414, "a query may have"),
        ("/v1/nodes/" + "a" * 5000, 414, "a query may have"),
    ],
)
async def test_wrong_question(box: Box, path: str, status: int, detail: str) -> None:
    """A wrong question is answered with the field that is wrong."""
    found, problem = await box.send("GET", path, await box.credential("viewer"))
    assert (status, status, True) == (
        found,
        problem["status"],
        problem["detail"].startswith(detail),
    )


@pytest.mark.parametrize(
    "headers", [{f"X-{n}": "a" for n in range(70)}, {"X-Long": "a" * 20_000}], ids=["many", "long"]
)
async def test_headers(box: Box, headers: dict[str, str]) -> None:
    """Too many or too long headers are 431."""
    assert 431 == (await box.send("GET", "/healthz", headers))[0]


async def test_method(box: Box) -> None:
    """A method that a path does not have is 405 with those that it has."""
    async with box.client.put("/v1/nodes") as answer:
        assert (405, "application/problem+json", "GET") == (
            answer.status,
            answer.content_type,
            answer.headers["Allow"],
        )
