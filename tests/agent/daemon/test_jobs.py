"""Logs of jobs are followed as they grow, a hang rings, and RAS is asked once a minute."""

from typing import Any

import msgspec

from agent.daemon.jobs import Jobs, Logs
from agent.walk.suspects import Asking
from collectors.catalog import Source, source
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLog, JobLogs
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.jobs.ras import RasStatus
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series.progress import JobProgress, JobStand
from tests.agent.daemon.virtual import Still

MIB = 1 << 20
LINE = "step: {} loss: 2.5 step_time_ms: 200.0\n"


class Writing(Still):
    """A node with one job, whose log is `text` so far; its time is set by the test."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 100.0
        self.moved = 0
        self.asked: list[tuple[str, Any]] = []

    def monotonic(self) -> float:
        return self.at

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        del seconds

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del deadline_s
        self.asked.append((kind, args.get("start")))
        if kind == "activity":
            return {"7": {"ticks": 0, "bytes": self.moved}}
        if kind == "ras":
            return {"format": "text", "text": "\n"}
        start = args["start"] if 0 <= args["start"] <= len(self.text) else -1
        begin = max(len(self.text) - MIB, 0) if start < 0 else start
        text = self.text[begin : begin + MIB]
        size = len(self.text)
        after = begin + len(text)
        return {"path": "out.log", "text": text, "start": begin, "next": after, "size": size}

    def found(self) -> JobLogs:
        """Return the log as it would be listed now."""
        log = JobLog(
            pid=7,
            stream=1,
            path="out.log",
            device=1,
            inode=2,
            size=len(self.text),
            time=self.at,
            job="90417",
        )
        return JobLogs(logs=(log,))


RANKS = LocalRanks(
    ranks=(
        Rank(
            pid=7,
            comm="python",
            state="S",
            start_s=1.0,
            rank=0,
            world=2,
            job="90417",
            gpus=(0,),
        ),
    )
)


async def followed(logs: Logs, node: Writing) -> TrainingLogs:
    """Look at the log once more."""
    seen = await logs.collect(node, Wanted(), node.found())
    assert isinstance(seen, TrainingLogs)
    return seen


async def test_a_log_is_read_on_where_it_ended() -> None:
    """Each line is read once, also one that was half written at the first look."""
    node, logs = Writing(), Logs()
    node.text = LINE.format(1) + LINE.format(2)[:9]
    await followed(logs, node)
    node.text, node.at = LINE.format(1) + LINE.format(2) + LINE.format(3), 110.0
    (log,) = (await followed(logs, node)).logs
    starts = [start for kind, start in node.asked if kind == "job_log"]
    assert ([1, 2, 3], [-1, 9 + len(LINE.format(1))]) == (
        [point.step for point in log.curve.points],
        starts,
    )


async def test_of_a_long_log_the_newest_steps_are_kept_in_full() -> None:
    """Each look judges them anew; where nothing came since, what was seen is the same object."""
    node, logs = Writing(), Logs()
    node.text = "".join(LINE.format(n) for n in range(1, 10_001))
    (log,) = (await followed(logs, node)).logs
    (again,) = (await followed(logs, node)).logs
    node.text, node.at = node.text + LINE.format(10_001), 110.0
    (grown,) = (await followed(logs, node)).logs
    steps = [point.step for point in log.curve.points]
    assert (True, list(range(6_001, 10_001)), True, 10_001) == (
        log is again,
        steps[-4_000:],
        len(steps) < 8_001,
        grown.curve.points[-1].step,
    )


async def test_a_log_takes_no_more_than_a_mebibyte_a_second() -> None:
    """Of 40 MiB that came in 4 s, four are read now."""
    node, logs = Writing(), Logs()
    node.text = LINE.format(1)
    await followed(logs, node)
    node.text, node.at = node.text + "x" * 63 + "\n", 104.0
    node.text += ("y" * 63 + "\n") * (40 * MIB // 64)
    before = len(node.asked)
    await followed(logs, node)
    assert 4 == len(node.asked) - before


async def test_a_log_is_that_of_the_job_that_writes_it() -> None:
    """So that what it says is never joined with what another job's log says."""
    node, logs = Writing(), Logs()
    node.text = LINE.format(1)
    (log,) = (await followed(logs, node)).logs
    assert "90417" == log.job


async def test_a_log_that_was_cut_short_is_read_anew() -> None:
    """What it said before is another run's."""
    node, logs = Writing(), Logs()
    node.text = "".join(LINE.format(n) for n in range(1, 9))
    await followed(logs, node)
    node.text, node.at = LINE.format(1), 110.0
    (log,) = (await followed(logs, node)).logs
    assert [1] == [point.step for point in log.curve.points]


async def test_a_log_that_nobody_writes_any_more_is_let_go() -> None:
    """When the job ends, so does what is remembered of its log."""
    node, logs = Writing(), Logs()
    node.text = LINE.format(1)
    await followed(logs, node)
    assert TrainingLogs() == await logs.collect(node, Wanted(), JobLogs())


async def nothing(
    node: object,
    wanted: object,
    ranks: LocalRanks | Missing,
    found: JobLogs | Missing,
    logs: TrainingLogs | Missing,
) -> JobProgress | Missing:
    """Stand where the source of a walk stands."""
    del node, wanted, ranks, found, logs
    return JobProgress()


async def test_a_hang_rings_within_a_look_and_again_when_it_has_settled() -> None:
    """The walk that says it is made at once: not more than a look after the wait is over."""
    node, logs = Writing(), Logs()
    rang: list[float] = []
    files = JobLogs()
    jobs = Jobs(lambda: rang.append(node.at))
    (going_on,) = jobs.behind([source(nothing)])
    assert isinstance(going_on, Source)
    for look in range(30):
        node.at = 100.0 + 10 * look
        if look < 10:
            node.text += LINE.format(look + 1)
            node.moved += 10 * MIB
            # A file's time is of its last growth.
            files = node.found()
        await going_on.collect(node, Wanted(), RANKS, files, await followed(logs, node))
    # Its last step was seen at 190 s, and it takes 10 s a step as it is looked at.
    assert [220.0, 280.0] == rang


def standing(job: str) -> JobProgress:
    """Return a job that is suspected."""
    return JobProgress(jobs=(JobStand(job=job, pids=(7,), stopped_s=40.0, suspected=True),))


async def test_ras_is_asked_once_a_minute_and_only_of_a_suspect() -> None:
    """NCCL asks every process of the job for its answer."""
    node, asking = Writing(), Asking()
    await asking.collect(node, Wanted(), RANKS, JobProgress())
    told = []
    for node.at in (100.0, 110.0, 159.0, 161.0):
        seen = await asking.collect(node, Wanted(), RANKS, standing("90417"))
        assert isinstance(seen, RasStatus)
        told.append(len(seen.reports))
    assert ([1, 1, 1, 1], 2) == (told, len(node.asked))


async def test_another_node_asks_where_the_lowest_rank_is_not_here() -> None:
    """One node of a job asks: that of its rank 0."""
    node, asking = Writing(), Asking()
    (rank,) = RANKS.ranks
    other = LocalRanks(ranks=(msgspec.structs.replace(rank, rank=8),))
    seen = await asking.collect(node, Wanted(), other, standing("90417"))
    assert (RasStatus(), []) == (seen, node.asked)
