"""Leases over HTTP: budgets, places, breaker and pause, and what survives a restart."""

from typing import Any

from tests.aggregator.conftest import Box
from tests.aggregator.reports import lines, report


async def nodes(box: Box, names: list[str]) -> list[dict[str, str]]:
    """Let nodes report, return their credentials."""
    found = []
    for name in names:
        headers = await box.credential("node", name)
        await box.send("POST", "/v1/reports", headers, data=lines([report(node=name)]))
        found.append(headers)
    return found


async def ask(box: Box, headers: dict[str, str], node: str) -> tuple[int, Any]:
    """Ask for a lease of an hour."""
    asked = {"node": node, "remedy": "node.reboot", "seconds": 3600}
    return await box.send("POST", "/v1/leases", headers, json=asked)


async def test_budget(box: Box) -> None:
    """Of two nodes one may be out; given back, the other one may."""
    first, second = await nodes(box, ["a", "b"])
    status, lease = await ask(box, first, "a")
    refused, problem = await ask(box, second, "b")
    await box.send("DELETE", f"/v1/leases/{lease['id']}", first)
    assert (201, 409, "a is out already, and 1 may be", 201) == (
        status,
        refused,
        problem["detail"],
        (await ask(box, second, "b"))[0],
    )


async def test_renewed(box: Box) -> None:
    """A node that holds a lease gets the same one again, for longer."""
    (headers,) = await nodes(box, ["a"])
    _, lease = await ask(box, headers, "a")
    box.now += 600
    status, again = await ask(box, headers, "a")
    assert (200, lease["id"], True) == (
        status,
        again["id"],
        again["expires"] > lease["expires"],
    )


async def test_other_node(box: Box) -> None:
    """A node asks for itself alone, and gives back its own alone."""
    first, second = await nodes(box, ["a", "b"])
    _, lease = await ask(box, first, "a")
    assert (403, 404) == (
        (await ask(box, second, "a"))[0],
        (await box.send("DELETE", f"/v1/leases/{lease['id']}", second))[0],
    )


async def test_not_back(box: Box) -> None:
    """A lease that ran out holds until its node was heard again."""
    first, second = await nodes(box, ["a", "b"])
    await ask(box, first, "a")
    box.now += 4000
    away = (await ask(box, second, "b"))[0]
    await box.send("POST", "/v1/reports", first, data=lines([report(2, node="a")]))
    assert (409, 201) == (away, (await ask(box, second, "b"))[0])


async def test_same_rack(box: Box) -> None:
    """One node of a rack is out at once, though the budget allows more."""
    names = [f"c-{n:03}" for n in range(98)] + ["gpu-001", "gpu-002"]
    credentials = await nodes(box, names)
    first = await ask(box, credentials[-2], "gpu-001")
    second, problem = await ask(box, credentials[-1], "gpu-002")
    third = await ask(box, credentials[0], "c-000")
    assert (201, 409, "gpu-001 is out already in rack=r01", 201) == (
        first[0],
        second,
        problem["detail"],
        third[0],
    )


async def test_breaker(box: Box) -> None:
    """The fourth node that asks within ten minutes opens the breaker; a person closes it."""
    names = list("abcde")
    credentials = await nodes(box, names)
    found = [(await ask(box, h, n))[0] for h, n in zip(credentials, names, strict=True)]
    box.now += 10_000
    await box.restart()
    operator = await box.credential("operator")
    still, problem = await ask(box, credentials[1], "b")
    state = (await box.send("GET", "/v1/breaker", operator))[1]
    async with box.client.get("/metrics") as metrics:
        assert "gpudiag_aggregator_breaker_open 1" in (await metrics.text()).splitlines()
    await box.send("POST", "/v1/breaker/reset", operator, json={"reason": "looked"})
    await nodes(box, ["a"])
    _, after = await ask(box, credentials[1], "b")
    assert ([201, 409, 409, 409, 409], 409, True, "the breaker is open") == (
        found,
        still,
        state["on"],
        problem["detail"][:19],
    )
    assert "b" == after["node"]


async def test_reset_counts_anew(box: Box) -> None:
    """After a reset only what asks from then on is counted."""
    names = list("abcd")
    credentials = await nodes(box, names)
    for headers, name in zip(credentials, names, strict=True):
        await ask(box, headers, name)
    operator = await box.credential("operator")
    box.now += 1
    await box.send("POST", "/v1/breaker/reset", operator, json={"reason": "looked"})
    box.now += 1
    _, problem = await ask(box, credentials[1], "b")
    assert "a is out already, and 1 may be" == problem["detail"]


async def test_pause(box: Box) -> None:
    """Pause refuses leases, survives a restart, and every node hears it with its next receipt."""
    (headers,) = await nodes(box, ["a"])
    operator = await box.credential("operator")
    asked = {"paused": True, "reason": "storage is being moved"}
    await box.send("POST", "/v1/pause", operator, json=asked)
    await box.restart()
    heard = await box.send("POST", "/v1/reports", headers, data=lines([report(2, node="a")]))
    refused = await ask(box, headers, "a")
    await box.send("POST", "/v1/pause", operator, json=asked | {"paused": False})
    over = await box.send("POST", "/v1/reports", headers, data=lines([report(3, node="a")]))
    assert (True, 409, False, 201) == (
        heard[1].get("paused", False),
        refused[0],
        over[1].get("paused", False),
        (await ask(box, headers, "a"))[0],
    )
