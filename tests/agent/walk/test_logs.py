"""The logs of a walk are read through the door; what cannot be read leaves the rest judged."""

import asyncio
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from agent.walk.logs import collect
from agent.walk.sources import by_shape
from agent.walk.walk import Selection, walk
from collectors.facts.observation import Cause
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLogs
from collectors.node.live import Live
from diagnostics.catalog import WALK
from diagnostics.rules.seen import TrainingLogs
from tests.recording import recorded

if TYPE_CHECKING:
    from diagnostics.check import Need

OOM = "[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 6 has\n"


def test_a_recorded_log_is_searched(tmp_path: Path) -> None:
    """A log of the recording gives its symptoms; one that it does not hold is Missing."""
    node = recorded(tmp_path, logs={"train.log": "start\n" + OOM})
    seen = asyncio.run(collect(node, Wanted(logs=("train.log", "other.log")), JobLogs()))

    assert isinstance(seen, TrainingLogs)
    assert ([("train.log", 2, 6)], [("other.log", Cause.NOT_RECORDED)]) == (
        [(log.name, hit.line, hit.rank) for log in seen.logs for hit in log.hits],
        [(missing.what, missing.cause) for missing in seen.unseen],
    )


def test_lines_that_nobody_counted_are_told_from_their_byte(tmp_path: Path) -> None:
    """The end of a huge log: its name says where it begins, and its lines count from there."""
    part = {"first_line": None, "skipped_bytes": 5_242_880}
    answers = [{"kind": "log", "args": {"path": "train.log"}, "answer": part}]
    node = recorded(tmp_path, logs={"train.log": "start\n" + OOM}, answers=answers)
    seen = asyncio.run(collect(node, Wanted(logs=("train.log",)), JobLogs()))

    assert isinstance(seen, TrainingLogs)
    assert [("train.log from byte 5242880", 2)] == [
        (log.name, hit.line) for log in seen.logs for hit in log.hits
    ]


def test_without_a_log_nothing_is_read(tmp_path: Path) -> None:
    """A walk that was given no log observes none."""
    assert TrainingLogs() == asyncio.run(collect(recorded(tmp_path), Wanted(), JobLogs()))


async def test_a_live_log_is_searched_and_a_packed_one_is_not(tmp_path: Path) -> None:
    """A file of this machine is read by a helper; a packed one is unseen and says what reads it."""
    (tmp_path / "train.log").write_text("start\n" + OOM)
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(OOM.encode()))
    names = tuple(str(tmp_path / name) for name in ("train.log", "old.log.gz", "none.log"))
    node = Live()
    try:
        seen = await collect(node, Wanted(logs=names), JobLogs())
    finally:
        await node.close()

    assert isinstance(seen, TrainingLogs)
    assert ([names[0]], [names[1], names[2]]) == (
        [log.name for log in seen.logs if log.hits],
        [missing.what for missing in seen.unseen],
    )
    assert f"it is packed; gpudiag logs {names[1]} reads it" == seen.unseen[0].detail


def test_the_walk_judges_them(tmp_path: Path) -> None:
    """The training stage of a walk says what the log says."""
    node = recorded(tmp_path, logs={"train.log": OOM})
    wanted = Wanted(logs=("train.log",))
    (stage,) = asyncio.run(walk(node, wanted, Selection(stages=("training",)), {}))

    expected = [("cuda_oom", "training.symptoms")]
    assert expected == [
        (f.fault, f.check) for r in stage.results for f in r.findings if f.severity != "info"
    ]


def test_every_check_has_its_sources() -> None:
    """What a check of the walk needs, some source collects."""
    needs: list[Need] = [need for check in WALK for need in check.needs]

    assert set() == {need.shape.__name__ for need in needs} - {s.__name__ for s in by_shape()}
