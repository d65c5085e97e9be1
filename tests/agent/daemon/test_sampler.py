"""Each source is looked at in its own period; one that hangs or fails costs nobody else."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from agent.daemon.sampler import SLOWEST_S, Sampler
from agent.walk.sources import SOURCES
from collectors.catalog import Source
from collectors.facts.answers import Files
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from tests.agent.daemon.virtual import Said, Still, every, for_a_while, virtually


class Quick(Observation, frozen=True, kw_only=True):
    """Looked at every 10 s."""


class Slow(Observation, frozen=True, kw_only=True):
    """Looked at every 60 s."""


class Ill(Observation, frozen=True, kw_only=True):
    """Whatever the test makes of it."""


class Looks:
    """A collector that notes when it was called."""

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.at: list[float] = []
        self._answer = answer

    async def __call__(self, node: Still, wanted: Wanted, *told: object) -> Any:
        del wanted, told
        self.at.append(node.monotonic())
        answer = self._answer(len(self.at))
        return await answer if asyncio.iscoroutine(answer) else answer


def sampler(said: Said, *sources: Source) -> Sampler:
    chance = random.Random(7)  # noqa: S311 - the same spread at each run
    return Sampler(Still(), sources, Wanted, said, chance)


def late(_: int) -> Missing:
    return Missing(what="Ill", cause=Cause.TIMEOUT, detail="no answer in 5 s")


def test_a_hung_source_holds_up_no_other() -> None:
    """R13: while one source hangs for ever, the others keep their periods to the second."""
    quick, slow = Looks(lambda _: Quick()), Looks(lambda _: Slow())
    ill = Looks(lambda _: asyncio.sleep(10_000))

    async def main() -> None:
        one = sampler(
            Said(), every(ill, Ill, 10.0), every(quick, Quick, 10.0), every(slow, Slow, 60.0)
        )
        await for_a_while(one.run(), 3600.0)

    virtually(main)
    gaps = [b - a for a, b in zip(quick.at[1:], quick.at[2:], strict=False)]

    assert (True, True, True) == (
        all(abs(gap - 10.0) < 1e-6 for gap in gaps),
        359 <= len(quick.at) <= 362,
        60 <= len(slow.at) <= 62,
    )


def test_a_crash_is_told_within_one_period() -> None:
    """R26: a collector that raises is Missing(crashed) at once, and its neighbour goes on."""

    def raising(_: int) -> Any:
        raise ZeroDivisionError

    quick = Looks(lambda _: Quick())

    async def main() -> tuple[Any, Any]:
        one = sampler(Said(), every(Looks(raising), Ill, 10.0), every(quick, Quick, 10.0))
        await for_a_while(one.run(), 10.0)
        return one.newest(Ill), one.newest(Quick)

    ill, well = virtually(main)

    assert (Cause.CRASHED, Quick()) == (ill.cause, well)


@pytest.mark.parametrize(("age_s", "fresh"), [(19.0, True), (21.0, False)])
def test_what_is_older_than_two_periods_is_stale(age_s: float, *, fresh: bool) -> None:
    """An old observation is handed on for two periods, and then it is Missing(stale)."""

    async def main() -> Any:
        one = sampler(Said(), every(Looks(lambda _: Quick()), Quick, 10.0))
        await one.look(one.tracks[Quick], within_s=10.0)
        await asyncio.sleep(age_s)
        return one.newest(Quick)

    got = virtually(main)

    assert (fresh, None if fresh else Cause.STALE) == (
        got == Quick(),
        getattr(got, "cause", None),
    )


def test_what_was_never_seen_is_stale() -> None:
    """Before the first look there is nothing to judge, and that is no word of health."""

    async def main() -> Any:
        return sampler(Said(), every(Looks(lambda _: Quick()), Quick, 10.0)).newest(Quick)

    assert virtually(main).cause is Cause.STALE


def test_a_source_that_keeps_failing_is_slowed_and_said_once() -> None:
    """Each failure doubles the pause up to 5 min; an hour of it is one line in the log."""
    said, ill = Said(), Looks(late)

    async def main() -> Any:
        one = sampler(said, every(ill, Ill, 10.0))
        await for_a_while(one.run(), 3600.0)
        return one.newest(Ill)

    newest = virtually(main)
    last = round(ill.at[-1] - ill.at[-2])

    assert (SLOWEST_S, 1, Cause.TIMEOUT, True) == (
        last,
        len(said.of("source_failing")),
        newest.cause,
        len(ill.at) < 20,
    )


def test_a_recovery_is_said_once_and_the_period_is_back() -> None:
    """After 5 failures a source answers again: one line, and it is looked at as before."""
    said, ill = Said(), Looks(lambda n: late(n) if n <= 5 else Ill())

    async def main() -> None:
        await for_a_while(sampler(said, every(ill, Ill, 10.0)).run(), 1200.0)

    virtually(main)

    assert (["source_failing", "source_recovered"], 10) == (
        said.of("source_failing", "source_recovered"),
        round(ill.at[-1] - ill.at[-2]),
    )


def test_an_answer_that_nothing_is_there_is_no_failure() -> None:
    """A tool that is not installed is looked for as often as ever, and nothing is said."""
    said = Said()
    ill = Looks(lambda _: Missing(what="Ill", cause=Cause.NO_TOOL, detail="x is not installed"))

    async def main() -> None:
        await for_a_while(sampler(said, every(ill, Ill, 10.0)).run(), 300.0)

    virtually(main)

    assert ([], True) == (said.lines, len(ill.at) >= 29)


@pytest.mark.parametrize(("shape", "most"), [(KernelLog, 2.0), (Slow, 55.0)])
def test_what_a_collector_is_told_is_fresh(shape: type, most: float) -> None:
    """The log is read no longer than 2 s before the driver is asked, whatever its own period.

    Anything else is no older than its period, and not looked at twice in it.
    """
    told: list[float] = []
    slow = Looks(lambda _: Slow())

    async def driver(node: Still, wanted: Wanted, log: object) -> Quick:
        del wanted, log
        told.append(node.monotonic() - slow.at[-1])
        return Quick()

    async def main() -> None:
        one = sampler(Said(), every(slow, shape, 60.0), every(driver, Quick, 10.0, shape))
        await for_a_while(one.run(), 600.0)

    virtually(main)

    often = 62 if shape is KernelLog else 12
    assert (True, True, True) == (len(told) >= 59, max(told) <= most, len(slow.at) <= often)


def test_probes_are_left_to_the_walk() -> None:
    """A source that sends packets is not looked at by itself: a walk may have to hold it back."""
    probe = Looks(lambda _: Ill())
    source = Source(shape=Ill, collect=probe, active=True, period_s=60.0)

    async def main() -> list[float]:
        one = sampler(Said(), source, every(Looks(lambda _: Quick()), Quick, 10.0))
        await for_a_while(one.run(), 600.0)
        before = len(probe.at)
        of_walk = one.sources()[Ill]
        for _ in range(3):
            await of_walk.collect(Still(), Wanted())
            await asyncio.sleep(25.0)
        return [before, *probe.at]

    assert [0, 600.0] == virtually(main)


def test_sources_are_spread_over_their_period() -> None:
    """Twenty sources of one period do not wake in one second: the node feels no beat."""
    shapes = [type(f"Shape{n}", (Observation,), {}, frozen=True, kw_only=True) for n in range(20)]
    looks = [Looks(lambda _: Quick()) for _ in shapes]

    async def main() -> None:
        pairs = zip(looks, shapes, strict=True)
        one = sampler(Said(), *(every(look, shape, 30.0) for look, shape in pairs))
        await for_a_while(one.run(), 120.0)

    virtually(main)
    seconds = {int(look.at[2]) for look in looks}

    assert len(seconds) >= 8


def test_what_several_are_told_is_looked_at_once() -> None:
    """The log is read once for all who wait for it: they wake at one time."""
    log = Looks(lambda _: Slow())

    async def main() -> None:
        one = sampler(
            Said(),
            every(log, Slow, 10.0),
            every(Looks(lambda _: Quick()), Quick, 10.0, Slow),
            every(Looks(lambda _: Ill()), Ill, 10.0, Slow),
        )
        await for_a_while(one.run(), 600.0)

    virtually(main)

    assert 60 <= len(log.at) <= 62


def test_all_processes_are_read_once_in_30_s() -> None:
    """/proc/PID/stat of everything is the dearest that is read: one question, whoever is told."""
    asked: list[float] = []
    stat = "900 (sshd) S 1 900 900 0 -1 4194560 0 0 0 0 9 4 0 0 20 0 1 0 813"

    class Counted(Still):
        async def files(self, *patterns: str, **_: Any) -> Files | Missing:
            asked.extend([self.monotonic()] * patterns.count("/proc/[0-9]*/stat"))
            texts = {"/proc/900/stat": stat, "/proc/uptime": "1400.21 90.00\n"}
            return Files(texts=texts, errors={})

    async def main() -> None:
        chance = random.Random(5)  # noqa: S311 - the same at each run
        await for_a_while(Sampler(Counted(), SOURCES, Wanted, Said(), chance).run(), 600.0)

    virtually(main)

    assert (True, True) == (20 <= len(asked) <= 23, asked[-1] > 560.0)
