"""`gpudiag fleet` against a real aggregator: what it prints and does."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.cli.fleet_site import Site
from tests.aggregator.reports import GPU, report, snapshot
from tests.aggregator.test_crash import free_port
from tests.aggregator.test_tls import served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve for this module: one node with a lost GPU, one that is well."""
    folder, port = tmp_path_factory.mktemp("site"), free_port()
    with served(folder, port, ""):
        site = Site(folder, f"http://127.0.0.1:{port}")
        site.tell(snapshot(1))
        site.tell(report(1, node="gpu-002"))
        yield site


def test_nodes_are_listed(site: Site) -> None:
    """Each node is a row with state, what it said and when it was heard; the first line counts."""
    ended = site.fleet("nodes")
    first, head, *rows = ended.stdout.splitlines()
    assert (0, "2 nodes: 2 ok; 1 said fault", ["NODE", "STATE", "SAID", "HEARD"], "") == (
        ended.returncode,
        first,
        head.split(),
        ended.stderr,
    )
    assert [["gpu-001", "ok", "fault"], ["gpu-002", "ok", "ok"]] == [r.split()[:3] for r in rows]


def test_a_node_is_shown(site: Site) -> None:
    """A node's page has its findings, its parts by serial number and its versions."""
    shown = site.fleet("nodes", "gpu-001").stdout
    wanted = ("gpu-001: ok, said fault", "it left the bus", GPU, "96.00.74", "580.65.06")
    assert [] == [word for word in wanted if word not in shown]


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ((), ["gpu-001", "gpu-002"]),
        (("--verdict", "fault"), ["gpu-001"]),
        (("--state", "lost"), []),
        (("--state", "lost", "--state", "ok", "--verdict", "ok"), ["gpu-002"]),
    ],
)
def test_json(site: Site, chosen: tuple[str, ...], names: list[str]) -> None:
    """--json is one document and nothing else; --state and --verdict choose."""
    found = json.loads(site.fleet("nodes", "--json", *chosen).stdout)
    assert names == [node["node"] for node in found["items"]]


def test_more_than_a_page(tmp_path: Path) -> None:
    """A fleet of more nodes than the API gives at once is listed whole."""
    from aggregator.store.sqlite import SqliteStore  # noqa: PLC0415 - of this test alone
    from tests.aggregator.store.fleet import filled  # noqa: PLC0415 - same

    (tmp_path / "data").mkdir(mode=0o700)
    SqliteStore.prepare(tmp_path / "data" / "gpudiag.db")
    filled(tmp_path / "data" / "gpudiag.db", 2345)
    port = free_port()
    with served(tmp_path, port, ""):
        ended = Site(tmp_path, f"http://127.0.0.1:{port}").fleet("nodes", "--json")
    assert 2345 == len({node["node"] for node in json.loads(ended.stdout)["items"]})


def test_actions(site: Site) -> None:
    """What a node was granted and what it then did is listed, the newest first, and as JSON."""
    node = site.token("node", "--node", "gpu-001")
    asked = {"node": "gpu-001", "remedy": "gpu.reset", "seconds": 600}
    lease = site.post("/v1/leases", json.dumps(asked).encode(), node)["id"]
    told = {"node": "gpu-001", "what": "done", "remedy": "gpu.reset", "reason": "all is well"}
    site.post("/v1/actions", json.dumps(told).encode(), node)
    rows = site.fleet("actions").stdout.splitlines()[1:]
    found = json.loads(site.fleet("actions", "gpu-001", "--json").stdout)["items"]
    site.fleet("leases", "end", lease, role="operator")
    assert (["done", "granted"], [None, lease], "all is well", "nothing was done to any node") == (
        [one["what"] for one in found],
        [one["lease"] for one in found],
        rows[0].split("gpu.reset")[1].strip(),
        site.fleet("actions", "gpu-002").stdout.strip(),
    )


def test_enrolment(site: Site) -> None:
    """A second machine under a name waits, is listed, approved, let in, and can be revoked."""
    join = site.token("join")
    asked = {"node": "gpu-003", "machine": "m-1", "nonce": "n" * 16}
    site.post("/v1/enroll", json.dumps(asked).encode(), join)
    again = json.dumps(asked | {"machine": "m-2", "nonce": "o" * 16}).encode()
    waits = site.post("/v1/enroll", again, join)["state"]
    listed = site.fleet("enroll").stdout
    approved = site.fleet("enroll", "approve", "gpu-003", role="operator")
    inside = site.post("/v1/enroll", again, join)["node"]
    revoked = site.fleet("enroll", "revoke", "gpu-003", role="operator")
    (last,) = json.loads(site.fleet("enroll", "--json").stdout)["items"]
    assert ("pending", True, 0, "gpu-003", 0, "revoked") == (
        waits,
        "m-2 since " in listed,
        approved.returncode,
        inside,
        revoked.returncode,
        last["state"],
    )
    assert "gpu-003: machine m-2 is let in when it asks again\n" == approved.stdout


def test_maintenance(site: Site) -> None:
    """A node under maintenance is listed with its reason, and as such among the nodes."""
    before = site.fleet("maintenance").stdout
    begun = site.fleet(
        *("maintenance", "begin", "gpu-002", "--hours", "2", "--reason", "new fans"),
        role="operator",
    )
    listed, nodes = site.fleet("maintenance").stdout, site.fleet("nodes").stdout
    ended = site.fleet("maintenance", "end", "gpu-002", role="operator")
    after = json.loads(site.fleet("maintenance", "--json").stdout)
    assert ("no node is under maintenance\n", 0, 0, {"items": []}) == (
        before,
        begun.returncode,
        ended.returncode,
        after,
    )
    assert (True, True) == ("new fans" in listed, "maintenance  ok" in nodes)


def test_pause(site: Site) -> None:
    """pause and resume are seen by who asks for the leases, with by whom and why."""
    paused = site.fleet("pause", "--reason", "storage moves", role="operator")
    during = site.fleet("leases").stdout
    resumed = site.fleet("resume", role="operator")
    after = json.loads(site.fleet("leases", "--json").stdout)
    assert (0, True, 0, False, []) == (
        paused.returncode,
        during.startswith("all acting is paused since ") and "storage moves" in during,
        resumed.returncode,
        after["pause"]["on"],
        after["items"],
    )


def test_leases_and_breaker(site: Site) -> None:
    """A lease is listed and ended; the breaker is shown, and reset by a person with a reason."""
    node = site.token("node", "--node", "gpu-001")
    asked = {"node": "gpu-001", "remedy": "node.reboot", "seconds": 600}
    lease = site.post("/v1/leases", json.dumps(asked).encode(), node)["id"]
    listed = site.fleet("leases").stdout
    ended = site.fleet("leases", "end", lease, role="operator")
    again = site.fleet("leases", "end", lease, role="operator")
    reset = site.fleet("breaker", "reset", "--reason", "looked at all four", role="operator")
    shown = site.fleet("breaker").stdout
    assert (True, 0, 64, 0, True) == (
        "node.reboot" in listed and lease in listed,
        ended.returncode,
        again.returncode,
        reset.returncode,
        shown.startswith("the breaker is closed since ") and "looked at all four" in shown,
    )
