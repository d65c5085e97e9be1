"""A node's jobs beside the same jobs elsewhere: what is told, and what comes back."""

import asyncio
from pathlib import Path

import msgspec

from agent.daemon.compared import FRESH_S, Compared, key_of
from aggregator.wire import Alike, JobSettings, Receipt
from aggregator.wire import Compared as Word
from collectors.catalog import SOURCES, Source
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.nccl import NcclSettings, RankSettings, Setting
from collectors.network.elsewhere import Across, JobsElsewhere
from collectors.network.elsewhere import Alike as Seen
from collectors.node.recorded import Recorded
from tests.recording import write

UNREAD = Missing(what="/etc/nccl.conf", cause=Cause.DENIED, detail="no reader")


def rank(number: int, job: str = "88123", world: int = 16, **settings: str) -> RankSettings:
    """Return one of a job's ranks."""
    found = {"MASTER_ADDR": "gpu-001", **settings}
    return RankSettings(
        pid=4000 + number,
        job=job,
        rank=number,
        world=world,
        settings={name: Setting(value=value) for name, value in found.items()},
    )


RANKS = (rank(8, NCCL_ALGO="Ring"), rank(9, NCCL_ALGO="Ring"))
KEY = key_of("88123", RANKS[0])


async def saw(compared: Compared, node: Recorded, seen: NcclSettings | Missing) -> Source:
    """Let the daemon's source of settings see this; return that of the other nodes."""

    async def collect(node: object, wanted: object, ranks: object) -> NcclSettings | Missing:
        del node, wanted, ranks
        return seen

    by_shape = {one.shape: one for one in SOURCES}
    source = msgspec.structs.replace(by_shape[NcclSettings], collect=collect)
    await compared.behind(source).collect(node, Wanted(), None)
    return compared.behind(by_shape[JobsElsewhere])


def test_a_job_of_several_nodes_is_told(tmp_path: Path) -> None:
    """Its name is a digest, and only what its ranks share of NCCL's settings goes."""
    compared = Compared(lambda: 0.0)
    alone = rank(0, job="88200", world=1)
    unnamed = rank(0, job="pid 4120", world=16)
    ranks = (*RANKS, alone, unnamed)
    asyncio.run(saw(compared, Recorded(write(tmp_path)), NcclSettings(ranks=ranks)))

    assert (JobSettings(job=KEY, settings={"NCCL_ALGO": "Ring"}),) == compared.asks()


def test_settings_that_were_not_seen_are_not_told(tmp_path: Path) -> None:
    """Without the files a node would seem to differ from those that read them."""
    compared = Compared(lambda: 0.0)
    node = Recorded(write(tmp_path))
    told = []
    for seen in (NcclSettings(ranks=RANKS, unread=UNREAD), UNREAD):
        asyncio.run(saw(compared, node, seen))
        told.append(compared.asks())

    assert [(), ()] == told


def test_what_others_told_is_shown_for_a_while(tmp_path: Path) -> None:
    """By the job's own id; after two minutes without a word nothing is known."""
    now = [100.0]
    compared = Compared(lambda: now[0])
    node = Recorded(write(tmp_path))
    source = asyncio.run(saw(compared, node, NcclSettings(ranks=RANKS)))
    groups = (Alike("Ring", 1, ("gpu-002",)), Alike(None, 7, ("gpu-001",)))
    word = Word(nodes=8, differing={"NCCL_ALGO": groups})
    compared.told(Receipt(jobs={KEY: word, "f" * 16: word}))
    compared.told(Receipt())
    seen = [asyncio.run(compared.collect(node, Wanted()))]
    now[0] += FRESH_S + 1.0
    seen.append(asyncio.run(compared.collect(node, Wanted())))

    expected = (Seen(nodes=1, value="Ring", some=("gpu-002",)), Seen(nodes=7, some=("gpu-001",)))
    told = JobsElsewhere(jobs={"88123": Across(nodes=8, differing={"NCCL_ALGO": expected})})
    assert (compared.collect, [told, JobsElsewhere()]) == (source.collect, seen)


def test_two_steps_of_a_job_are_two_jobs() -> None:
    """Another master or another size is another program, which may be set up otherwise."""
    keys = {key_of("88123", one) for one in (rank(0), rank(0, world=8), rank(0, MASTER_ADDR="b"))}

    assert 3 == len(keys)
