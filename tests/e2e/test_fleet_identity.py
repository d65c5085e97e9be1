"""A host that got another name, or another image, is known by the serial numbers it reports."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import agent, until
from tests.e2e.aggregators import Served, aggregator, reporting

pytestmark = [pytest.mark.serial, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]


def known(where: Served, node: str, viewer: str) -> Any:
    """Return what the aggregator knows of a node once a snapshot with parts came."""

    def whole() -> Any:
        found = where.get(f"/v1/nodes/{node}", viewer)
        return found if found.get("parts") else None

    return until(whole, f"a snapshot of {node} with its parts")


def seen(where: Served, folder: Path, node: str, viewer: str) -> Any:
    """Run an agent of that name over one recorded machine until it is known; end it."""
    folder.mkdir()
    recording = ROOT / "tests" / "nodes" / "h100-idle"
    program = (str(ROOT / "tests/e2e/replaying.py"), node, "40", str(folder), str(recording))
    with agent(folder, reporting(where, folder), program):
        return known(where, node, viewer)


def test_renamed(tmp_path: Path) -> None:
    """The machine of gpu-041 that comes back as gpu-042 is said to be it, by its parts."""
    with aggregator(tmp_path / "server") as where:
        viewer = where.token("viewer")
        first = seen(where, tmp_path / "first", "gpu-041", viewer)
        second = seen(where, tmp_path / "second", "gpu-042", viewer)
    serials = [part["serial"] for part in first["parts"]]
    count = len(serials)
    assert (8 <= count, serials, [], ["renamed"]) == (
        True,
        [part["serial"] for part in second["parts"]],
        first["events"],
        [event["kind"] for event in second["events"]],
    )
    text = f"gpu-042 was gpu-041: {count} of its {count} parts were there"
    assert text == second["events"][0]["text"]


def test_reimaged(tmp_path: Path) -> None:
    """The same parts under the same name with an empty disk wait for approval, and are let in."""
    with aggregator(tmp_path / "server") as where:
        viewer, operator = where.token("viewer"), where.token("operator")
        first = seen(where, tmp_path / "first", "gpu-041", viewer)
        again = tmp_path / "again"
        again.mkdir()
        recording = ROOT / "tests" / "nodes" / "h100-idle"
        program = (
            str(ROOT / "tests/e2e/replaying.py"),
            "gpu-041",
            "40",
            str(again),
            str(recording),
        )
        with agent(again, reporting(where, again), program) as one:
            one.told("WATCHDOG=1")

            def waits() -> Any:
                problem = one.ask(ask="status")["ok"]["agent"]["report"]["problem"]
                return problem if problem and problem.startswith("waits") else None

            said = until(waits, "the machine waits for approval")
            pending = where.get("/v1/enrollments", viewer)["items"][0]["state"]
            status, _ = where.send("POST", "/v1/enrollments/gpu-041/approve", operator)
        approved = where.get("/v1/enrollments", viewer)["items"][0]["state"]
    assert (True, "waits to be approved: gpudiag fleet enroll on the aggregator's side", 200) == (
        len(first["parts"]) >= 8,
        said,
        status,
    )
    assert ("pending", "approved") == (pending, approved)
