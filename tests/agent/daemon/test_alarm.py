"""The alarm: a link that changes has a walk made at once, over what shows it, without probes."""

import asyncio
import random
from typing import Any

from agent.cli.run import open_node
from agent.daemon.alarm import LEAST_S, Alarm
from agent.daemon.sampler import Sampler
from agent.daemon.walker import Walk, Walker
from agent.settings.load import Settings
from agent.walk.sources import SOURCES
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.links import LinkHistory, collect
from tests.agent.daemon.virtual import Said, Still, every, for_a_while, virtually

UP, DOWN = {"up": True, "carrier": True}, {"up": True, "carrier": False}
SETTLED_S = 30.0


class Cabled(Still):
    """A node whose one interface has its carrier but for some seconds."""

    def __init__(self, pulled: float, back: float) -> None:
        self._out = pulled, back

    def carrier(self) -> bool:
        pulled, back = self._out
        return not pulled <= self.monotonic() < back

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        if kind != "links":
            return await super().ask(kind, deadline_s=deadline_s, **args)
        return {"interfaces": {"eth0": UP if self.carrier() else DOWN}}


def interfaces(node: Cabled) -> Interfaces:
    one = Interface(
        name="eth0",
        up=True,
        running=node.carrier(),
        mtu=1500,
        physical=True,
        addresses=("192.0.2.5",),
    )
    return Interfaces(interfaces=(one,))


def walks(pulled: float, back: float, seconds: float) -> list[tuple[float, list[str]]]:
    """Return when walks were finished, and which faults of the interface they told."""
    told: list[tuple[float, list[str]]] = []
    # Files of the package, read before there is a loop as the command does.
    open_node(None, None, Settings(), ())

    async def main() -> None:
        node, alarm, chance = Cabled(pulled, back), Alarm(), random.Random(7)  # noqa: S311 - the same jitter

        async def see(seen: Cabled, wanted: Wanted) -> Interfaces | Missing:
            del wanted
            return interfaces(seen)

        others = [one for one in SOURCES if one.shape not in (Interfaces, LinkHistory)]
        looks = [every(see, Interfaces, 10.0), every(collect, LinkHistory, 30.0)]
        sources = alarm.behind([*others, *looks])
        sampler = Sampler(node, sources, Wanted, Said(), chance)

        def finished(walk: Walk) -> None:
            faults = [f["fault"] for f in walk.document.findings if f["severity"] != "info"]
            told.append((node.monotonic(), faults))

        walker = Walker(node, sampler, Settings, finished, chance, alarm=alarm)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in (sampler.run(), alarm.watch(node))]
            await for_a_while(walker.run(), seconds)
            for task in tasks:
                task.cancel()

    virtually(main)
    return told


def test_a_link_that_goes_down_is_told_within_three_seconds() -> None:
    """A walk comes every 30 s; the one after the drop comes at once, and tells it."""
    told = walks(pulled=100.0, back=1e9, seconds=160.0)
    first = next(at for at, faults in told if faults)

    assert (True, {"nic_link_down"}) == (
        100.0 <= first <= 103.0,
        {fault for at, faults in told if at > first for fault in faults},
    )


def test_it_is_told_until_the_link_has_settled() -> None:
    """Up again, it counts as down for half a minute, and is well in the walks after that."""
    told = walks(pulled=100.0, back=110.0, seconds=240.0)
    late = [faults for at, faults in told if at > 110.0 + SETTLED_S + 2.0]
    settling = [faults for at, faults in told if 110.0 <= at < 110.0 + SETTLED_S - 1.0]

    assert ({"nic_link_down"}, True, []) == (
        {fault for faults in settling for fault in faults},
        len(late) > 1,
        [fault for faults in late for fault in faults],
    )


def test_a_link_that_flaps_every_second_does_not_walk_more_often() -> None:
    """However often it rings, walks stay a second apart."""

    async def main() -> list[float]:
        node, alarm = Still(), Alarm()
        rang = []
        for _ in range(5):
            alarm.ring()
            await alarm.within(30.0, node)
            rang.append(node.monotonic())
        return rang

    assert [LEAST_S * n for n in range(1, 6)] == virtually(main)


def test_without_a_change_it_does_not_ring() -> None:
    """The walk comes when it is due."""

    async def main() -> tuple[bool, float]:
        node = Still()
        return await Alarm().within(30.0, node), node.monotonic()

    assert (False, 30.0) == virtually(main)
