"""A run is compared with its own first steps, also where its log shows them no more."""

import random
from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.check import Result
from diagnostics.checks.training.gradient_sync import gradient_sync
from diagnostics.checks.training.step_time import step_time
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.configuration import Configuration
from diagnostics.series.curve import Curve
from diagnostics.series.point import Point
from diagnostics.series.runs import KEPT, Run, RunsBefore, Usual, learned, name_of

PATH = "/scratch/llama/train-88123.out"
SETTINGS = Configuration(world=64, tensor=8)


def curve(first: int, last: int, ms: float, *, seed: int = 7, batch: int = 512) -> Curve:
    """Return steps that take about *ms*, 1 % around it, a third of it gradient sync."""
    chance = random.Random(seed)  # noqa: S311 - noise of a test, the same each time
    times = [ms * chance.gauss(1, 0.01) for _ in range(first, last + 1)]
    points = tuple(
        Point(step=step, step_ms=time, sync_ms=time / 3, batch=batch, line=step)
        for step, time in zip(range(first, last + 1), times, strict=True)
    )
    return Curve(points=points, framework="megatron-lm", settings=SETTINGS)


def judged(now: Curve, *runs: Run, names: Mapping[str, tuple[Usual, ...]] | None = None) -> Result:
    """Return what is said of the end of a log, with these runs remembered."""
    before = RunsBefore(source="runs.json", runs={run.log: run for run in runs}, names=names or {})
    seen = TrainingLogs(logs=(LogSeen(name=f"{PATH} from byte 9000", lines=99, curve=now),))
    return step_time.run({TrainingLogs: seen, RunsBefore: before})


def known(first: Curve, job: str = "88123") -> Run:
    run = learned(None, job, PATH, first)
    assert run is not None
    return run


def test_a_lasting_loss_of_five_percent_is_found_though_the_log_shows_only_slow_steps() -> None:
    """Steps 9,000 on take 5 % more than steps 6 to 105 of the same job: a warning."""
    run = known(curve(1, 400, 3000.0))
    told = judged(curve(9000, 9400, 3150.0, seed=8), run)
    assert [("slow_step", "warning")] == [(f.fault, f.severity) for f in told.findings]
    assert "runs.json" in {e.source for e in told.findings[0].evidence}


def test_without_what_is_remembered_the_same_log_is_well() -> None:
    """Slow throughout, the visible part of the log tells nothing by itself."""
    assert judged(curve(9000, 9400, 3150.0, seed=8)).verdict == "ok"


def test_equal_speed_and_a_single_long_step_are_well() -> None:
    """20 % more in one step, and 1 % of noise, is no loss of speed."""
    now = curve(9000, 9400, 3000.0, seed=8)
    points = list(now.points)
    points[-5] = msgspec.structs.replace(points[-5], step_ms=3600.0)
    now = msgspec.structs.replace(now, points=tuple(points))
    assert judged(now, known(curve(1, 400, 3000.0))).verdict == "ok"


def test_few_remembered_steps_are_a_guess() -> None:
    """Of 30 steps only a note is made."""
    run = known(curve(1, 35, 3000.0))
    told = judged(curve(9000, 9400, 3300.0), run)
    assert (True, [("slow_step", "info")]) == (
        run.provisional,
        [(f.fault, f.severity) for f in told.findings],
    )


def test_another_batch_size_is_another_baseline() -> None:
    """Twice the batch takes longer, as it must."""
    assert (
        judged(curve(9000, 9400, 6000.0, batch=1024), known(curve(1, 400, 3000.0))).verdict == "ok"
    )


def test_a_new_run_in_the_same_log_is_another_baseline() -> None:
    """A program that starts again at step 1 is not compared with the one before it."""
    first = known(curve(1, 400, 3000.0))
    again = learned(first, "88123", PATH, curve(1, 60, 6000.0))
    assert again is not None
    assert again.steps[0].step_ms is not None
    assert again.steps[0].step_ms > 5000.0


def test_a_run_that_goes_on_at_a_checkpoint_keeps_its_baseline() -> None:
    """After a crash at 400 it goes on at 350, and slower: that is a loss."""
    first = known(curve(1, 400, 3000.0))
    on = learned(first, "88123", PATH, curve(350, 390, 3300.0))
    assert on is not None
    assert first.steps == on.steps


def test_settings_that_are_out_of_sight_do_not_make_another_run() -> None:
    """The arguments stand at the beginning of a log, and its end alone is read."""
    first = known(curve(1, 400, 3000.0))
    end = msgspec.structs.replace(curve(9000, 9400, 3300.0), settings=Configuration())
    assert judged(end, first).verdict == "warning"


def test_earlier_runs_of_the_name_are_a_note() -> None:
    """Three other runs were 20 % faster: the model may have grown, so that nobody is warned."""
    run = known(curve(1, 400, 3600.0))
    others = {name_of(run.log, run.alike): (Usual(step_ms=3000.0),) * 3}
    told = judged(curve(380, 400, 3600.0), run, names=others)
    assert [("slow_step", "info")] == [(f.fault, f.severity) for f in told.findings]


def test_the_number_of_a_job_is_no_part_of_its_name() -> None:
    """Job 88123 and job 90001 of one script have the same name."""
    kind = known(curve(1, 9, 1.0)).alike
    assert name_of(PATH, kind) == name_of("/scratch/llama/train-90001.out", kind)


def test_synchronisation_is_compared_with_remembered_steps() -> None:
    """From a third of the step to two thirds, before the log's end begins."""
    slow = curve(9000, 9400, 3000.0)
    points = tuple(
        msgspec.structs.replace(p, sync_ms=(p.step_ms or 0.0) / 1.5) for p in slow.points
    )
    log = LogSeen(name=PATH, lines=9, curve=msgspec.structs.replace(slow, points=points))
    run = known(curve(1, 400, 3000.0))
    before = RunsBefore(source="runs.json", runs={PATH: run})
    told = gradient_sync.run({TrainingLogs: TrainingLogs(logs=(log,)), RunsBefore: before})
    assert ["gradient_sync_slow"] == [f.fault for f in told.findings]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 300)), max_size=8))
def test_the_steps_that_are_kept_only_rise_and_stay_few(looks: list[tuple[int, int]]) -> None:
    """Whatever parts of a log are looked at, in whatever order."""
    run: Run | None = None
    for first, length in looks:
        run = learned(run, "88123", PATH, curve(first, first + length, 100.0))
    steps = [step.step for step in run.steps] if run else []
    assert sorted(set(steps))[:KEPT] == steps
