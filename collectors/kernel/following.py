"""The kernel log for who runs long: read to its end once, and from there on only what is new."""

import asyncio
from collections.abc import Callable

import msgspec

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel.log import Ring, Times, asked, parse, timed, times
from collectors.node.protocol import Node

# Records in one answer, answers in one reading, and records that are kept.
PIECE, MOST_PIECES, MOST_RECORDS = 2_000, 50, 20_000

# The kernel counts all interrupts for whoever asks when it was booted. That time moves by as much
# as somebody sets the clock, and the other one stands still while a machine sleeps.
TIMES_S = 600.0
# So long one question waits for the kernel to say something.
WAIT_S = 30


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """Up to which record the log of a boot was read."""

    boot_id: str
    sequence: int


class Following:
    """The log so far; its cursor is the boot and the number of the last record that was read.

    With *kept*, which is where an earlier run in this boot stopped, what was overwritten since is
    counted as lost. What is still there is read all the same: a fault of this boot holds on, and
    whoever judges it must see it. *keep* is told of each new cursor.
    """

    def __init__(
        self, kept: Cursor | None = None, keep: Callable[[Cursor], None] | None = None
    ) -> None:
        self._kept = kept
        self._keep = keep
        self._log: KernelLog | None = None
        self._after = -1
        # Of a reading that follows on another: up to where that one went.
        self._shown: int | None = None
        self._times: Times | None = None
        # Answers are added one after the other, and nobody who reads waits for one that listens.
        self._reads = asyncio.Lock()
        self._listens = False

    async def collect(self, node: Node, wanted: Wanted) -> KernelLog | Missing:
        """Return all records that are kept, of which only the new ones are asked for.

        While somebody listens there are none: each would have been told.
        """
        del wanted
        if self._listens and self._log is not None:
            # Not kept: what is told meanwhile is added to what there is by then.
            return await timed(node, self._log, await self._read(node))
        async with self._reads:
            return await self._collected(node)

    async def listen(self, node: Node) -> bool | Missing:
        """Wait until the kernel says something; False where it said nothing in WAIT_S.

        False at once where somebody reads or listens just now, Missing where the kernel does not
        tell by itself, or its log was not read yet.
        """
        if self._reads.locked() or self._listens:
            return False
        self._listens = True
        try:
            ring = await self._heard(node)
        finally:
            self._listens = False
        if isinstance(ring, Missing):
            return ring
        self._add(ring)
        return bool(ring.lines)

    async def _heard(self, node: Node) -> Ring | Missing:
        """Return what the kernel says next."""
        await self._same_boot(node)
        if self._log is None or self._log.source != "kmsg":
            detail = "only /dev/kmsg tells by itself, and only after it was read"
            return Missing(what="KernelLog", cause=Cause.NOT_RECORDED, detail=detail)
        self._shown = self._after
        return await asked(node, after=self._after, most=PIECE, wait_s=WAIT_S)

    async def _same_boot(self, node: Node) -> None:
        """Forget what was said in another boot."""
        if self._log is not None and self._log.boot_id != (await node.identity()).boot_id:
            self._log = self._times = None

    async def _collected(self, node: Node) -> KernelLog | Missing:
        await self._same_boot(node)
        self._shown = None if self._log is None else self._after
        for _ in range(MOST_PIECES):
            ring = await asked(node, after=-1 if self._log is None else self._after, most=PIECE)
            if isinstance(ring, Missing):
                return ring
            if self._add(ring):
                break
        if self._log is None:
            detail = "its source changes at each question"
            return Missing(what="KernelLog", cause=Cause.GARBLED, detail=detail)
        self._log = self._counted(await timed(node, self._log, await self._read(node)))
        return self._log

    async def _read(self, node: Node) -> Times:
        """Return the times of boot and now, read anew where that was long ago."""
        known, now = self._times, node.monotonic()
        if known is not None and known.boot_time is not None and now - known.at < TIMES_S:
            return known.aged(now)
        self._times = await times(node)
        return self._times

    def _counted(self, log: KernelLog) -> KernelLog:
        """Count what an earlier run did not read, once; and tell where this one is now."""
        # The numbers of the other sources are made of times, and have gaps.
        if log.boot_id is None or log.source != "kmsg":
            return log
        if self._keep is not None and self._after >= 0:
            self._keep(Cursor(boot_id=log.boot_id, sequence=self._after))
        kept, self._kept = self._kept, None
        if kept is None or kept.boot_id != log.boot_id or not log.records:
            return log
        unread = max(log.records[0].sequence - kept.sequence - 1, 0)
        return msgspec.structs.replace(log, lost=log.lost + unread)

    def _add(self, ring: Ring) -> bool:
        """Take an answer; return whether nothing waits behind it.

        Of another source than before, whose numbers are others, all is asked for anew.
        """
        log = self._log or KernelLog(records=(), source=ring.source)
        if log.source != ring.source:
            self._log = self._shown = None
            return False
        # A piece that follows on the last record of an answer (flag c) stays a record of its own.
        records = (*log.records, *parse(ring.lines)) if ring.lines else log.records
        shown = self._shown
        # What finds no room was seen by nobody, unless an earlier reading showed it.
        unseen = 0 if shown is None else sum(r.sequence > shown for r in records[:-MOST_RECORDS])
        self._log = msgspec.structs.replace(
            log, records=records[-MOST_RECORDS:], lost=log.lost + ring.lost + unseen
        )
        self._after = self._after if ring.last is None else ring.last
        return len(ring.lines) < PIECE or ring.source != "kmsg"
