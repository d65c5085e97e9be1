"""What runs took is kept over a restart of the agent, and forgotten by removing the file."""

import asyncio
from pathlib import Path

from agent.daemon.runs import NAME, KeptRuns
from agent.walk.sources import SOURCES
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLog, JobLogs
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.runs import RunsBefore
from tests.agent.daemon.virtual import Still
from tests.diagnostics.series.test_runs import PATH, curve

FOUND = JobLog(
    pid=4120, stream=1, path=PATH, device=1, inode=7, size=9000, time=1.79e9, job="88123", rank=0
)


def look(kept: KeptRuns, first: int, last: int, ms: float = 3000.0, job: str = "88123") -> None:
    """Let the agent see these steps in the log of a job."""
    log = LogSeen(name=f"{PATH} from byte 512", lines=9, curve=curve(first, last, ms))
    found = JobLog(
        **{name: getattr(FOUND, name) for name in FOUND.__struct_fields__} | {"job": job}
    )
    kept.learn(TrainingLogs(logs=(log,)), JobLogs(logs=(found,)))


def begun(folder: Path, node: str = "gpu-017") -> KeptRuns:
    kept = KeptRuns(folder)
    kept.begin(node)
    return kept


def test_what_a_run_took_survives_a_restart(tmp_path: Path) -> None:
    """The first steps are the same after it, and later ones change nothing."""
    first = begun(tmp_path)
    look(first, 1, 300)
    before = first.before.runs[PATH].steps
    first.close(10.0)
    again = begun(tmp_path)
    look(again, 9000, 9300, 3300.0)
    again.close(10.0)
    assert before == again.before.runs[PATH].steps


def test_a_file_that_was_cut_is_put_aside_and_said(tmp_path: Path) -> None:
    """A baseline is a hint: without it the agent goes on."""
    (tmp_path / NAME).write_text('{"schema": "gpudiag.runs/1", "runs": {"')
    kept = begun(tmp_path)
    assert (RunsBefore(source=str(tmp_path / NAME)), True) == (
        kept.before,
        "runs.damaged" in (kept.problem or ""),
    )


def test_the_runs_of_another_node_are_not_this_ones(tmp_path: Path) -> None:
    """A disk image that was copied brings no baseline along."""
    first = begun(tmp_path)
    look(first, 1, 300)
    first.close(10.0)
    assert {} == dict(begun(tmp_path, "gpu-018").before.runs)


def test_a_run_that_is_over_is_kept_by_its_name(tmp_path: Path) -> None:
    """Another job in the same log: of the first one the middle values stay."""
    kept = begun(tmp_path)
    look(kept, 1, 300)
    look(kept, 1, 300, 3300.0, job="90001")
    kept.close(10.0)
    (usual,) = next(iter(kept.before.names.values()))
    assert (3000, 0.333) == (round(usual.step_ms or 0, -2), round(usual.share or 0, 3))


def test_who_judges_is_told_what_is_known(tmp_path: Path) -> None:
    """The source that says nothing on its own says what the agent keeps."""
    kept = begun(tmp_path)
    look(kept, 1, 300)
    (source,) = [one for one in kept.behind(SOURCES) if one.shape is RunsBefore]

    async def ask() -> Observation | Missing:
        return await source.collect(Still(), Wanted())

    told = asyncio.run(ask())
    kept.close(10.0)
    assert kept.before == told


def test_a_log_that_belongs_to_no_job_is_not_kept(tmp_path: Path) -> None:
    """Only running jobs have a baseline: a log that was named by hand has none."""
    kept = begun(tmp_path)
    log = LogSeen(name="/home/user/old.log", lines=9, curve=curve(1, 300, 3000.0))
    kept.learn(TrainingLogs(logs=(log,)), JobLogs())
    assert {} == dict(kept.before.runs)
