"""The daemon's walk: every 30 s with jitter, over what was seen last, each check with its age."""

import asyncio
import itertools
import random

from agent.cli.run import open_node
from agent.daemon.sampler import Sampler
from agent.daemon.walker import JITTER, Walk, Walker
from agent.settings.load import Settings
from agent.walk.sources import SOURCES
from collectors.facts.wanted import Wanted
from tests.agent.daemon.virtual import Said, Still, for_a_while, virtually


def walks(seconds: float, said: Said) -> list[tuple[float, Walk]]:
    """Return the walks of so long on a node of which nothing can be seen."""
    made: list[tuple[float, Walk]] = []
    # Files of the package, read before there is a loop as the command does.
    open_node(None, None, Settings(), ())

    async def main() -> None:
        node, chance = Still(), random.Random(7)  # noqa: S311 - the same jitter at each run
        sampler = Sampler(node, SOURCES, Wanted, said, chance)
        walker = Walker(
            node, sampler, Settings, lambda walk: made.append((node.monotonic(), walk)), chance
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sampler.run())
            await for_a_while(walker.run(), seconds)
            task.cancel()

    virtually(main)
    return made


def test_walks_come_every_30_s_and_not_in_step() -> None:
    """In an hour some 120, each 27 to 33 s after the last, no two pauses alike."""
    at = [at for at, _ in walks(3600.0, Said())]
    pauses = [b - a for a, b in itertools.pairwise(at)]

    assert (True, True, True) == (
        115 <= len(at) <= 125,
        all(30 * (1 - JITTER) <= pause <= 30 * (1 + JITTER) for pause in pauses),
        len({round(pause, 3) for pause in pauses}) > 100,
    )


def test_a_node_of_which_nothing_is_seen_is_unknown_and_never_faulty() -> None:
    """Every walk ends, says that it saw nothing, finds no fault, and the log does not fill up."""
    said = Said()
    made = walks(600.0, said)
    verdicts = {walk.document.verdict for _, walk in made}
    loud = [f for _, walk in made for f in walk.document.findings if f["severity"] != "info"]

    assert ({"unknown"}, [], []) == (verdicts, loud, said.of("service_failed"))


def test_each_check_knows_how_old_is_what_it_saw() -> None:
    """Slow sources grow old between two looks, and the age of a check is its oldest need's."""
    _, last = walks(290.0, Said())[-1]

    told = {c.check: c.age_s for stage in last.document.stages for c in stage.checks}

    assert (True, True, round(last.ages_s["host.governor"], 1)) == (
        last.ages_s["host.governor"] > 200.0,
        last.ages_s["processes.zombie"] < 61.0,
        told["host.governor"],
    )


def test_what_is_expected_makes_nothing_old() -> None:
    """GPUs are counted every 10 s, and a hook that takes what is 60 s old takes their count."""
    _, last = walks(290.0, Said())[-1]

    assert last.ages_s["gpu.count"] < 60.0


def test_each_stage_knows_how_old_is_what_is_usual_in_it() -> None:
    """What is looked at for each walk is at most two periods old; slow sources are left out."""
    _, last = walks(290.0, Said())[-1]

    assert ({"processes", "driver", "network", "training"}, True) == (
        set(last.stages_s),
        max(last.stages_s.values()) < 61.0,
    )
