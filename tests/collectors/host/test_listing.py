"""Processes listed again and again: what is told is what each look alone would tell."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.facts.processes import ProcessTable
from collectors.facts.wanted import Wanted
from collectors.host.processes import UPTIME, Listing, collect
from tests.agent.daemon.virtual import Still

STAT = "{pid} ({comm}) {state} 1 1 1 0 -1 4194304 1 0 0 0 {ran} 0 0 0 20 0 1 0 {start} 0 0"
LOOK = st.dictionaries(
    st.integers(1, 4),
    st.tuples(st.sampled_from(("python", "a) b (")), st.sampled_from("SRD"), st.integers(0, 2)),
)


class Texts(Still):
    """A node whose processes a test sets."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def files(self, *patterns: str, **given: Any) -> Files | Missing:
        del patterns, given
        return Files(texts=self.texts)

    def become(self, processes: Mapping[int, tuple[str, str, int]]) -> None:
        """Have these processes."""
        self.texts = {UPTIME: "100.25 1.0\n"}
        for pid, (comm, state, ran) in processes.items():
            text = STAT.format(pid=pid, comm=comm, state=state, ran=ran, start=pid)
            self.texts[f"/proc/{pid}/stat"] = text


@given(st.lists(LOOK, max_size=6))
async def test_a_listing_is_what_one_look_tells(
    looks: list[dict[int, tuple[str, str, int]]],
) -> None:
    """Processes that come, go, run on, and numbers that are used again."""
    node, listing = Texts(), Listing()
    for processes in looks:
        node.become(processes)
        assert await collect(node, Wanted()) == await listing.collect(node, Wanted())


async def test_one_that_did_nothing_is_the_same() -> None:
    """Nothing is made anew of its text."""
    node, listing = Texts(), Listing()
    seen = []
    for ran in (0, 1):
        node.become({7: ("python", "R", ran), 8: ("sleep", "S", 0)})
        table = await listing.collect(node, Wanted())
        assert isinstance(table, ProcessTable)
        seen.append(table.processes)
    (ran_before, slept_before), (ran_after, slept_after) = seen

    assert (0.01, True) == (ran_after.ran_s - ran_before.ran_s, slept_before is slept_after)
