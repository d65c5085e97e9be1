"""The agent's trail: every line on the disk, told to the fleet in order, once, whatever fails."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remediations.act.audit import Trail
from remediations.plan.actions import Action

ACTION = Action(
    key="k", remedy="gpu.reset", fault="gpu_lost", subject="gpu 1", signature="gpu_lost",
    steps=(), risk="",
)  # fmt: skip # one row


async def ask(call: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(call)


class Fleet:
    def __init__(self) -> None:
        self.there = True
        self.has: list[str] = []

    async def send(self, line: dict[str, Any]) -> bool:
        if self.there:
            self.has.append(f"{line['what']} {line['reason']}")
        return self.there


def trail(folder: Path, fleet: Fleet) -> Trail:
    return Trail(folder, lambda: "gpu-001", ask, fleet.send)


async def test_told_later_and_once(tmp_path: Path) -> None:
    """What an aggregator that was away did not hear is told with the next line, in order, once."""
    fleet = Fleet()
    await trail(tmp_path, fleet).tell(ACTION, "begun", "1", "lease-1")
    fleet.there = False
    await trail(tmp_path, fleet).tell(ACTION, "done", "2", None)
    fleet.there = True
    # A new start of the agent knows how far it was.
    await trail(tmp_path, fleet).tell(ACTION, "untouched", "3", None)
    await trail(tmp_path, fleet).flush()
    assert ["begun 1", "done 2", "untouched 3"] == fleet.has


async def test_same_refusal_is_no_news(tmp_path: Path) -> None:
    """A refusal that comes with each walk is kept once, until another one comes."""
    fleet = Fleet()
    kept = trail(tmp_path, fleet)
    for reason in ("no room", "no room", "paused", "no room"):
        await kept.tell(ACTION, "untouched", reason, None)
    assert ["untouched no room", "untouched paused", "untouched no room"] == fleet.has


async def test_torn_line(tmp_path: Path) -> None:
    """A line that a crash tore is passed over; those around it are told."""
    fleet = Fleet()
    fleet.there = False
    kept = trail(tmp_path, fleet)
    await kept.tell(ACTION, "begun", "1", None)
    with (tmp_path / "acting.jsonl").open("ab") as file:
        file.write(b'{"what": "do\n')
    fleet.there = True
    await kept.tell(ACTION, "done", "2", None)
    assert ["begun 1", "done 2"] == fleet.has


async def test_disk_that_takes_nothing(tmp_path: Path) -> None:
    """Where the file cannot be written it is said, and nothing is raised."""
    (tmp_path / "acting.jsonl").mkdir()
    kept = trail(tmp_path, Fleet())
    await kept.tell(ACTION, "begun", "1", None)
    assert "what is done is not kept" in (kept.problem or "")


async def test_line_has_all_of_it(tmp_path: Path) -> None:
    """A line names node, remedy, subject, fault and lease."""
    await trail(tmp_path, Fleet()).tell(ACTION, "begun", "it begins", "lease-1")
    line = json.loads(await asyncio.to_thread((tmp_path / "acting.jsonl").read_text))
    assert ("gpu-001", "gpu.reset", "gpu 1", "gpu_lost", "lease-1") == (
        line["node"],
        line["remedy"],
        line["subject"],
        line["fault"],
        line["lease"],
    )
