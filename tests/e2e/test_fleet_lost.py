"""An aggregator that forgot everything hears of every node again, without a hand on the nodes."""

import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.agents import until
from tests.e2e.fleet import FLEET, Server, agreed, nodes

pytestmark = pytest.mark.serial


def test_a_lost_database_is_filled_again(tmp_path: Path) -> None:
    """R9: with the database gone and a new join token, each node enrols anew and tells the whole.

    No node is touched but for the file with the join token, which is the same on all.
    """
    server = Server(tmp_path)
    where = server.where
    try:
        with nodes(where) as agents:
            server.end(signal.SIGKILL)
            shutil.rmtree(server.data)
            server.again()
            until(server.ready, "an empty aggregator")
            join, viewer = where.token("join"), where.token("viewer")
            before = where.get("/v1/nodes", viewer)["items"]
            for one in agents:
                (one.folder / "join").write_text(join)
            for one in agents:
                until(partial(agreed, one, where, viewer), f"{one.folder.name} is known again")
            known = where.get("/v1/nodes", viewer)["items"]
    finally:
        server.close()

    assert ([], [(name, "ok") for name in sorted(FLEET)]) == (
        before,
        [(node["node"], node["state"]) for node in known],
    )
