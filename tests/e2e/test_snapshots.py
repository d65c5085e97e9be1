"""Snapshots of a real agent: what they carry is served, and they heal what was lost on the way."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from agent.daemon.reporting import SNAPSHOT_S
from aggregator.store.bodies import text
from tests.e2e.agents import Agent, agent, until
from tests.e2e.aggregators import Served, aggregator, reporting
from tests.e2e.proxy import Answer, Proxy, proxy

pytestmark = [pytest.mark.serial, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
NODE = "gpu-051"
SPEED = 40
# A walk's period, and what two slow cores add: a walk, a request, and looking each 50 ms.
SLACK_S = 5.0


class Deaf(Proxy):
    """Swallows each change that takes a finding back, and answers as if it had been taken."""

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self.swallowed: list[float] = []

    def reports(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        passed = {name: headers[name] for name in ("Authorization", "Content-Type")}
        lines = text(body).splitlines()
        kept = [line for line in lines if not json.loads(line).get("cleared")]
        swallowed = len(lines) - len(kept)
        if not kept:
            self.swallowed.append(time.monotonic())
            return 200, json.dumps({"accepted": swallowed}).encode()
        status, answer = self.forward(path, passed, b"".join(line + b"\n" for line in kept))
        if not swallowed or status != HTTPStatus.OK:
            return status, answer
        self.swallowed.append(time.monotonic())
        receipt = json.loads(answer)
        receipt["accepted"] = receipt.get("accepted", 0) + swallowed
        return status, json.dumps(receipt).encode()


def becomes(folder: Path, number: int) -> None:
    """Choose which of the recordings the node is like; never seen half written."""
    (folder / "next").write_text(f"{number}")
    (folder / "next").rename(folder / "now")


@contextmanager
def replaying(where: Served, folder: Path, *recordings: str) -> Iterator[Agent]:
    """Run an agent over recordings, the first of them until another is chosen."""
    folder.mkdir()
    becomes(folder, 0)
    paths = ",".join(str(ROOT / "tests/nodes" / name) for name in recordings)
    program = (str(ROOT / "tests/e2e/replaying.py"), NODE, str(SPEED), str(folder), paths)
    with agent(folder, reporting(where, folder), program) as one:
        yield one


def test_what_a_snapshot_carries_is_served(tmp_path: Path) -> None:
    """Of a recorded H100 node: parts by serial, versions, gauges, diagnosis, ages of its stages."""
    with aggregator(tmp_path / "server") as where:
        viewer = where.token("viewer")
        with replaying(where, tmp_path / "node", "h100-training"):

            def whole() -> Any:
                known = where.get(f"/v1/nodes/{NODE}", viewer)
                return known if known.get("parts") and known["stages_s"] else None

            known = until(whole, "a snapshot and a heartbeat")
            past = where.get(f"/v1/nodes/{NODE}/history", viewer)["items"]
    (told, *_) = [one["report"] for one in past if one["kind"] == "snapshot"]
    gauges = told["gauges"]

    assert {"processes", "driver", "network", "training"} == set(known["stages_s"])
    assert all(0.0 <= age < 300.0 for age in known["stages_s"].values())
    assert (8, True, told["versions"], True) == (
        len([part for part in known["parts"] if part["kind"] == "gpu"]),
        all(part["serial"] for part in known["parts"]),
        known["versions"],
        "driver" in known["versions"],
    )
    assert {f"gpu{n}.{what}" for n in range(8) for what in ("power_w", "memory_used_bytes")} <= set(
        gauges
    )
    assert told["diagnosis"]["verdict"] == known["verdict"]


def test_a_recovery_that_was_lost_is_known_with_the_next_snapshot(tmp_path: Path) -> None:
    """R8: no word of a recovery arrives, and it is known within one snapshot's period."""
    with aggregator(tmp_path / "server") as direct:
        viewer = direct.token("viewer")

        def ill() -> bool:
            return throttled(direct.get(f"/v1/nodes/{NODE}", viewer).get("findings", ()))

        with proxy(int(direct.url.rpartition(":")[2]), Deaf) as between:
            where = Served(direct.folder, between.url)
            with replaying(where, tmp_path / "node", "thermal-throttle", "h100-training") as one:
                until(ill, "the GPU is known to be too hot")
                becomes(tmp_path / "node", 1)
                until(lambda: not throttled(seen(one)), "the agent sees it cooled down")
                over = time.monotonic()
                until(lambda: between.swallowed[-1:] > [over - 1.0], "and tells so, in vain")
                until(lambda: not ill(), "the recovery is known")
                took = time.monotonic() - over

    assert SNAPSHOT_S / SPEED + SLACK_S >= took


def seen(one: Agent) -> list[dict[str, Any]]:
    """Return what the agent itself finds now."""
    found: list[dict[str, Any]] = one.ask(ask="status")["ok"]["diagnosis"]["findings"]
    return found


def throttled(findings: Iterable[Mapping[str, Any]]) -> bool:
    return any(one["fault"] == "gpu_thermal_throttle" for one in findings)
