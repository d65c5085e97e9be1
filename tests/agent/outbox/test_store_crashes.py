"""The spool over a disk that loses what was not synced, refuses, and tears sectors."""

import errno

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent.outbox.store import Limits, Store
from aggregator.wire import Kind
from tests.agent.outbox.made import Seconds, numbers, report
from tests.agent.outbox.volatile import Volatile

KINDS: st.SearchStrategy[Kind] = st.sampled_from(["change", "snapshot"])
LIMITS = Limits(disk=1 << 20, memory=1 << 20, segment=1500)


class Crashes(RuleBasedStateMachine):
    """Puts, batches, acknowledgements, refusals and power cuts in any order.

    `sure` are the numbers that must come back after a crash, `maybe` those that may, `gone` those
    that must not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Volatile()
        self.clock = Seconds()
        self.sure: set[int] = set()
        self.maybe: set[int] = set()
        self.gone = 0
        self.used = 0

    @initialize()
    def begin(self) -> None:
        self.store = Store(self.folder, limits=LIMITS, monotonic=self.clock)
        self.next = self.store.open(0)

    @rule(kind=KINDS, filler=st.integers(0, 600))
    def put(self, kind: Kind, filler: int) -> None:
        number, self.next = self.next, self.next + 1
        self.used = number
        durable = self.store.append(report(kind, number, filler=filler))
        (self.sure if durable else self.maybe).add(number)

    @rule(most=st.integers(1, 6))
    def acknowledge(self, most: int) -> None:
        rows, _ = self.store.batch(most, 1 << 30)
        if not rows:
            return
        last = rows[-1][0]
        self.store.acknowledge(last)
        done = {n for n in self.sure | self.maybe if n <= last}
        if self.store.status().problem is None:
            self.gone = last
            self.sure -= done
            self.maybe -= done
        else:
            self.maybe |= done
            self.sure -= done
        self.told = last

    @rule(
        number=st.sampled_from([errno.ENOSPC, errno.EROFS, errno.EIO]),
        where=st.sampled_from(["", "short", "sync"]),
    )
    def refuse(self, number: int, where: str) -> None:
        self.folder.refuse, self.folder.where = number, where

    @precondition(lambda self: self.folder.refuse is not None)
    @rule()
    def allow(self) -> None:
        self.folder.refuse = None
        self.clock.now += 60.0

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        before = self.used
        self.folder = self.folder.crash(lambda what: data.draw(st.booleans(), label=what))
        self.store = Store(self.folder, limits=LIMITS, monotonic=self.clock)
        self.next = self.store.open(before)
        assert self.next > before
        found = set(numbers(self.store))
        assert self.sure - found == set(), "lost after it was on disk"
        assert found - self.sure - self.maybe == set(), "came back after it was acknowledged"
        self.sure, self.maybe = found, set()
        self.told = 0

    told = 0

    @invariant()
    def order(self) -> None:
        """While the process lives, all that was put and not acknowledged is there, in order."""
        expected = sorted(n for n in self.sure | self.maybe if n > self.told)
        assert expected == numbers(self.store)


Crashes.TestCase.settings = settings(
    max_examples=max(200, Crashes.TestCase.settings.max_examples), stateful_step_count=30
)
TestCrashes = Crashes.TestCase
