"""What was done to nodes over HTTP: counted, refused for many at once, and never changed."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from aggregator.settings import Place
from aggregator.wire import Part
from tests.aggregator.conftest import Box
from tests.aggregator.reports import lines, report

LOST = {"id": "g1", "fingerprint": "g1", "fault": "gpu_lost", "severity": "critical"}


async def heard(box: Box, node: str, *, sequence: int = 1, ill: bool = True, **more: Any) -> Any:
    """Let a node report that a GPU is lost, or that none is; return its credential."""
    headers = await box.credential("node", node)
    diagnosis = {"findings": [LOST] if ill else [], "verdict": "fault" if ill else "ok"}
    said = report(sequence, node=node, kind="snapshot", diagnosis=diagnosis, **more)
    status, _ = await box.send("POST", "/v1/reports", headers, data=lines([said]))
    assert 200 == status
    return headers


async def ask(box: Box, headers: Any, node: str, **more: Any) -> tuple[int, Any]:
    asked = {"node": node, "remedy": "gpu.reset", "seconds": 600, "signature": "gpu_lost"}
    asked |= {"fault": "gpu_lost", "serial": f"ser-{node}"} | more
    return await box.send("POST", "/v1/leases", headers, json=asked)


def on(switch: str) -> dict[str, Any]:
    return {"parts": (Part(kind="port", serial="0x1", slot="mlx5_0/1", switch=switch),)}


async def test_switch_behind_four_nodes(box: Box) -> None:
    """Four nodes of one switch lose a GPU within five minutes: none of them is taken away."""
    headers = [await heard(box, f"n{n}", **on("leaf-07")) for n in range(4)]
    box.now += 120
    status, problem = await ask(box, headers[0], "n0")
    assert (409, True) == (
        status,
        problem["detail"].startswith("gpu_lost on 4 nodes of switch=leaf-07 within 5 min"),
    )


@pytest.mark.parametrize("kind", ["feed", "storage", "image", "switch"])
async def test_shared_by_the_settings(box: Box, kind: str) -> None:
    """What nodes share by the settings holds as well."""
    box.aggregator.places = (Place.model_validate({"nodes": ["n*"], kind: "k2"}),)
    headers = [await heard(box, f"n{n}") for n in range(4)]
    _, problem = await ask(box, headers[0], "n0")
    assert f"gpu_lost on 4 nodes of {kind}=k2" == problem["detail"].partition(" within")[0]


async def test_driver_of_four_nodes(box: Box) -> None:
    """A driver that was rolled out is such a thing, too."""
    headers = [await heard(box, f"n{n}", versions={"driver": "580.65.06"}) for n in range(4)]
    _, problem = await ask(box, headers[0], "n0")
    assert "gpu_lost on 4 nodes of driver=580.65.06" == problem["detail"].partition(" within")[0]


async def test_three_nodes_are_no_mass(box: Box) -> None:
    """Three of one switch are three faults; and one that is over no longer counts."""
    headers = [await heard(box, f"n{n}", **on("leaf-07")) for n in range(4)]
    await heard(box, "n3", sequence=2, ill=False, **on("leaf-07"))
    assert 201 == (await ask(box, headers[0], "n0"))[0]


async def test_fault_keeps_its_first_time(box: Box) -> None:
    """What stood an hour before the others is not of the same moment, however often it is told."""
    first = await heard(box, "n0", **on("leaf-07"))
    box.now += 3600
    await heard(box, "n0", sequence=2, **on("leaf-07"))
    for number in range(1, 4):
        await heard(box, f"n{number}", **on("leaf-07"))
    assert 201 == (await ask(box, first, "n0"))[0]


async def again(box: Box, headers: Any, node: str, **more: Any) -> tuple[int, Any]:
    """Ask, and give the lease back: the next question is a new one."""
    status, lease = await ask(box, headers, node, **more)
    if status == 201:
        await box.send("DELETE", f"/v1/leases/{lease['id']}", headers)
    box.now += 3600
    return status, lease


async def test_sixth_of_a_week(box: Box) -> None:
    """Five leases of a week, then a person: of the node, and of the part wherever it is put."""
    headers = await heard(box, "n0")
    other = await heard(box, "n1")
    given = [(await again(box, headers, "n0"))[0] for _ in range(5)]
    await box.restart()
    _, of_node = await again(box, headers, "n0", serial=None)
    _, of_part = await again(box, other, "n1", serial="ser-n0")
    box.now += 8 * 86_400
    headers = await heard(box, "n0", sequence=2)
    later, _ = await again(box, headers, "n0")
    assert (
        [201] * 5,
        "5 remedies in 7 days for node n0: a person has to look",
        "5 remedies in 7 days for serial ser-n0: a person has to look",
        201,
    ) == (given, of_node["detail"], of_part["detail"], later)


async def test_untouched_is_not_counted(box: Box) -> None:
    """A lease under which nothing was changed does not climb the ladder."""
    headers = await heard(box, "n0")
    for _ in range(6):
        status, lease = await again(box, headers, "n0")
        told = {"node": "n0", "what": "untouched", "remedy": "gpu.reset", "lease": lease.get("id")}
        await box.send("POST", "/v1/actions", headers, json=told | {"reason": "the node is busy"})
    assert 201 == status


async def test_all_under_one_lease_counts(box: Box) -> None:
    """A drain, then reboots while it holds: the third of a week is refused, though it is out."""
    headers = await heard(box, "n0")
    said = []
    for remedy, word in (
        ("slurm.drain", "done"),
        ("slurm.reboot", "done"),
        ("slurm.reboot", "untouched"),
        ("slurm.reboot", "handed_over"),
        ("slurm.reboot", "done"),
    ):
        status, lease = await ask(box, headers, "n0", remedy=remedy)
        said.append(status)
        told = {"node": "n0", "what": word, "remedy": remedy, "lease": lease.get("id")}
        await box.send("POST", "/v1/actions", headers, json=told | {"reason": "as it ended"})
    # That the node only stays out is no remedy.
    renewed = await ask(box, headers, "n0", remedy="slurm.drain", signature=None, fault=None)
    assert ([201, 200, 200, 200, 409], "2 reboots in 7 days for node n0", 200) == (
        said,
        lease["detail"].partition(":")[0],
        renewed[0],
    )


async def test_all_of_it_is_listed(box: Box) -> None:
    """Viewers read what was asked, granted, refused and done, newest first, page by page."""
    headers = await heard(box, "n0")
    other = await heard(box, "n1")
    await ask(box, headers, "n0")
    for _ in range(3):
        await ask(box, other, "n1")
    told = {"node": "n0", "what": "done", "remedy": "gpu.reset", "reason": "all checks are well"}
    await box.send("POST", "/v1/actions", headers, json=told)
    viewer = await box.credential("viewer")
    _, first = await box.send("GET", "/v1/actions?limit=2", viewer)
    _, rest = await box.send("GET", f"/v1/actions?limit=2&cursor={first['next']}", viewer)
    _, own = await box.send("GET", "/v1/actions?node=n1", viewer)
    assert (
        [("n0", "done"), ("n1", "refused")],
        [("n0", "granted")],
        None,
        ["n0 is out already, and 1 may be"],
    ) == (
        [(one["node"], one["what"]) for one in first["items"]],
        [(one["node"], one["what"]) for one in rest["items"]],
        rest["next"],
        [one["reason"] for one in own["items"]],
    )


async def test_of_another_node(box: Box) -> None:
    """A node tells of itself alone, and reads nothing."""
    headers = await heard(box, "n0")
    told = {"node": "n1", "what": "done", "remedy": "gpu.reset", "reason": "well"}
    assert (403, 403) == (
        (await box.send("POST", "/v1/actions", headers, json=told))[0],
        (await box.send("GET", "/v1/actions", headers))[0],
    )


@pytest.mark.parametrize("change", ["DELETE FROM actions", "UPDATE actions SET reason = 'well'"])
async def test_nothing_changes_it(box: Box, tmp_path: Any, change: str) -> None:
    """Whoever writes to the database itself cannot change or remove a line of what was done."""
    headers = await heard(box, "n0")
    await ask(box, headers, "n0")
    with (
        closing(sqlite3.connect(tmp_path / "gpudiag.db")) as database,
        pytest.raises(sqlite3.IntegrityError, match="actions are only added"),
    ):
        database.execute(change)


async def test_a_hot_rack_is_one_incident(box: Box) -> None:
    """Four hot nodes of one rack are one rise, for people; three are none, and one that cooled."""
    hot = {"id": "h1", "fingerprint": "h1", "fault": "gpu_thermal_throttle", "severity": "warning"}
    box.aggregator.places = (Place(nodes=("n*",), rack="r07"),)
    viewer = await box.credential("viewer", "eve")
    found: list[list[tuple[str, list[str]]]] = []
    for number, finding in ((0, hot), (1, hot), (2, hot), (3, hot), (3, None)):
        headers = await box.credential("node", f"n{number}")
        diagnosis = {"findings": [finding] if finding else [], "verdict": "warning"}
        said = report(len(found) + 1, node=f"n{number}", kind="snapshot", diagnosis=diagnosis)
        await box.send("POST", "/v1/reports", headers, data=lines([said]))
        _, answer = await box.send("GET", "/v1/facility", viewer)
        found.append([(one["place"], one["nodes"]) for one in answer["items"]])

    assert [[], [], [], [("rack=r07", ["n0", "n1", "n2", "n3"])], []] == found
