"""Who may do what: credentials, their lives, and enrolment."""

from typing import Any, get_args

import pytest

from aggregator.store.records import Role
from tests.aggregator.conftest import Box
from tests.aggregator.reports import lines, report

BODY = lines([report()])


async def try_report(box: Box, headers: dict[str, str], sequence: int = 1) -> int:
    """Return the status of a report of gpu-001."""
    return (await box.send("POST", "/v1/reports", headers, data=lines([report(sequence)])))[0]


async def enrol(box: Box, join: dict[str, str], **facts: str) -> tuple[int, Any]:
    """Ask for a credential."""
    asked = {"node": "gpu-001", "machine": "m-1", "nonce": "n" * 16} | facts
    return await box.send("POST", "/v1/enroll", join, json=asked)


def bearer(answer: Any) -> dict[str, str]:
    """Return the header of a credential that was given."""
    return {"Authorization": f"Bearer {answer['credential']}"}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic Zzpw",
        "Bearer",
        "Bearer x",
        "Bearer gpudiag_000000000000_" + "a" * 43,
        "Bearer gpudiag_00000000000é_" + "a" * 43,
    ],
)
async def test_nobody(box: Box, header: str) -> None:
    """Without a credential that is known there is 401, and how to ask."""
    async with box.client.get("/v1/nodes", headers={"Authorization": header}) as answer:
        assert (401, 'Bearer realm="gpudiag"') == (
            answer.status,
            answer.headers["WWW-Authenticate"],
        )


async def test_wrong_secret(box: Box) -> None:
    """A known id with another secret is nobody."""
    headers = await box.credential("viewer")
    text = headers["Authorization"]
    wrong = text[:-1] + ("a" if text[-1] != "a" else "b")
    assert 401 == (await box.send("GET", "/v1/nodes", {"Authorization": wrong}))[0]


async def test_expired(box: Box) -> None:
    """An expired credential is refused, though it was good a moment ago."""
    headers = await box.credential("node", "gpu-001")
    before = await try_report(box, headers)
    box.now += 86_401
    assert (200, 401) == (before, await try_report(box, headers, 2))


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/v1/reports", {"node"}),
        ("GET", "/v1/nodes", {"viewer", "operator", "admin"}),
        ("POST", "/v1/enroll", {"join"}),
        ("POST", "/v1/enroll/rotate", {"node"}),
        ("GET", "/v1/enrollments", {"viewer", "operator", "admin"}),
        ("POST", "/v1/enrollments/gpu-9/approve", {"operator", "admin"}),
        ("DELETE", "/v1/enrollments/gpu-9", {"operator", "admin"}),
        ("GET", "/v1/tokens", {"admin"}),
        ("POST", "/v1/tokens", {"admin"}),
        ("DELETE", "/v1/tokens/0", {"admin"}),
        ("POST", "/v1/leases", {"node"}),
        ("GET", "/v1/leases", {"viewer", "operator", "admin"}),
        ("DELETE", "/v1/leases/0", {"node", "operator", "admin"}),
        ("POST", "/v1/maintenance", {"operator", "admin"}),
        ("POST", "/v1/pause", {"operator", "admin"}),
        ("POST", "/v1/breaker/reset", {"operator", "admin"}),
    ],
)
async def test_roles(box: Box, method: str, path: str, allowed: set[str]) -> None:
    """A role does what its row says and nothing else."""
    found = set()
    for role in get_args(Role):
        headers = await box.credential(role, "gpu-001" if role == "node" else None)
        if (await box.send(method, path, headers, data=b"{}"))[0] != 403:
            found.add(role)
    assert allowed == found


async def test_tokens(box: Box) -> None:
    """A token made over the API works, is listed without its secret, and ends when revoked."""
    admin = await box.credential("admin")
    asked = {"role": "viewer", "name": "grafana", "hours": 1}
    status, made = await box.send("POST", "/v1/tokens", admin, json=asked)
    works = (await box.send("GET", "/v1/nodes", bearer(made)))[0]
    _, listed = await box.send("GET", "/v1/tokens", admin)
    secret = made["credential"].rpartition("_")[2]
    gone = (await box.send("DELETE", f"/v1/tokens/{made['id']}", admin))[0]
    after = (await box.send("GET", "/v1/nodes", bearer(made)))[0]
    again = (await box.send("DELETE", f"/v1/tokens/{made['id']}", admin))[0]
    assert (201, 200, 204, 401, 404) == (status, works, gone, after, again)
    assert (True, False) == ("grafana" in str(listed), secret in str(listed))


async def test_secret_is_not_kept(box: Box) -> None:
    """The database holds no secret, only its digest."""
    headers = await box.credential("admin")
    (token,) = await box.store.tokens()
    assert (32, True) == (
        len(token.digest),
        headers["Authorization"][-43:].encode() != token.digest,
    )


async def test_enrol(box: Box) -> None:
    """A join token becomes a credential of one's own that reports at once."""
    status, made = await enrol(box, await box.credential("join"))
    assert (201, "gpu-001", 200) == (status, made["node"], await try_report(box, bearer(made)))


async def test_enrol_many(box: Box) -> None:
    """One join token enrols any number of nodes, each once."""
    join = await box.credential("join")
    first = [(await enrol(box, join, node=f"gpu-{n}", machine=f"m-{n}"))[0] for n in range(5)]
    assert [201] * 5 == first


async def test_lost_answer(box: Box) -> None:
    """The same question again within the hour gets a credential again, and the first one ends."""
    join = await box.credential("join")
    _, first = await enrol(box, join)
    status, second = await enrol(box, join)
    assert (201, 401, 200) == (
        status,
        await try_report(box, bearer(first)),
        await try_report(box, bearer(second)),
    )


async def test_taken_name(box: Box) -> None:
    """Another machine under a taken name waits for a person; who has the name goes on."""
    join = await box.credential("join")
    _, first = await enrol(box, join)
    status, waiting = await enrol(box, join, machine="m-2", nonce="o" * 16)
    _, listed = await box.send("GET", "/v1/enrollments", await box.credential("viewer"))
    (row,) = listed["items"]
    assert (202, "pending", "pending", "m-2", 200) == (
        status,
        waiting["state"],
        row["state"],
        row["pending_machine"],
        await try_report(box, bearer(first)),
    )


async def test_approved(box: Box) -> None:
    """After approval that very machine gets the name, no other one, and the old one loses it."""
    join, operator = await box.credential("join"), await box.credential("operator")
    _, first = await enrol(box, join)
    await enrol(box, join, machine="m-2", nonce="o" * 16)
    await box.send("POST", "/v1/enrollments/gpu-001/approve", operator)
    status, second = await enrol(box, join, machine="m-2", nonce="o" * 16)
    assert (201, 401, 200) == (
        status,
        await try_report(box, bearer(first)),
        await try_report(box, bearer(second)),
    )


async def test_approval_is_for_one_machine(box: Box) -> None:
    """A third machine that asks between does not get what was approved for the second."""
    join, operator = await box.credential("join"), await box.credential("operator")
    await enrol(box, join)
    await enrol(box, join, machine="m-2", nonce="o" * 16)
    await box.send("POST", "/v1/enrollments/gpu-001/approve", operator)
    assert 202 == (await enrol(box, join, machine="m-3", nonce="p" * 16))[0]


async def test_approve_nobody(box: Box) -> None:
    """There is nothing to approve where nobody waits."""
    operator = await box.credential("operator")
    assert 409 == (await box.send("POST", "/v1/enrollments/gpu-001/approve", operator))[0]


async def test_second_use(box: Box) -> None:
    """A join token made for two uses a name lets a node be installed anew once."""
    join = await box.credential("join", uses_per_node=2)
    found = [(await enrol(box, join, nonce=nonce * 16))[0] for nonce in "nop"]
    assert [201, 201, 202] == found


async def test_reinstalled_with_another_token(box: Box) -> None:
    """A newer join token of the plain kind takes no name away."""
    await enrol(box, await box.credential("join"))
    assert 202 == (await enrol(box, await box.credential("join"), nonce="o" * 16))[0]


async def test_revoked_node(box: Box) -> None:
    """A revoked node is out at once, and comes back by approval alone."""
    join, operator = await box.credential("join"), await box.credential("operator")
    _, made = await enrol(box, join)
    before = await try_report(box, bearer(made))
    await box.send("DELETE", "/v1/enrollments/gpu-001", operator)
    after, back = await try_report(box, bearer(made)), (await enrol(box, join))[0]
    await box.send("POST", "/v1/enrollments/gpu-001/approve", operator)
    assert (200, 401, 202, 201) == (before, after, back, (await enrol(box, join))[0])


async def test_rotated(box: Box) -> None:
    """The old credential works until the new one was used, and 120 s longer."""
    _, old = await enrol(box, await box.credential("join"))
    status, new = await box.send("POST", "/v1/enroll/rotate", bearer(old))
    unused = await try_report(box, bearer(old), 1)
    box.now += 3600
    still = await try_report(box, bearer(old), 2)
    first = await try_report(box, bearer(new), 3)
    on_its_way = await try_report(box, bearer(old), 4)
    box.now += 121
    assert (201, 200, 200, 200, 200, 401, 200) == (
        status,
        unused,
        still,
        first,
        on_its_way,
        await try_report(box, bearer(old), 5),
        await try_report(box, bearer(new), 6),
    )


async def test_lost_rotation(box: Box) -> None:
    """A rotation whose answer was lost locks nobody out."""
    _, old = await enrol(box, await box.credential("join"))
    await box.send("POST", "/v1/enroll/rotate", bearer(old))
    _, new = await box.send("POST", "/v1/enroll/rotate", bearer(old))
    assert 200 == await try_report(box, bearer(new))


async def test_restart(box: Box) -> None:
    """Credentials and revocations survive a restart."""
    good, bad = await box.credential("viewer"), await box.credential("viewer")
    token_id = bad["Authorization"].split("_")[1]
    admin = await box.credential("admin")
    await box.send("DELETE", f"/v1/tokens/{token_id}", admin)
    await box.restart()
    found = [(await box.send("GET", "/v1/nodes", headers))[0] for headers in (good, bad)]
    assert [200, 401] == found


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, "body"),
        (b"[]", 400, "body"),
        (b'{"node":"a","node":"b"}', 400, "body"),
        (b'{"node":' + b"[" * 99 + b"]" * 99 + b"}", 400, "body"),
        (b'{"node":1e999}', 400, "body"),
        (b'{"node":"../a","machine":"m","nonce":"0123456789abcdef"}', 422, "node"),
        (b'{"node":"a","machine":"m","nonce":"short"}', 422, "nonce"),
        (b'{"node":"a","machine":"m","nonce":"0123456789abcdef","role":"x"}', 422, "role"),
        (b" " * 70_000, 413, "a body"),
    ],
)
async def test_wrong_document(box: Box, body: bytes, status: int, field: str) -> None:
    """A wrong document is refused with the field named."""
    join = await box.credential("join")
    found, problem = await box.send("POST", "/v1/enroll", join, data=body)
    assert (status, True) == (found, problem["detail"].startswith(field)), problem
