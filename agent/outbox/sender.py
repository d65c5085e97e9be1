"""Bring the spool's records to the aggregator, slowly enough that it is not flooded."""

import asyncio
import random
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Literal

import msgspec

from agent.exchange import Exchange, Reply, Unanswered, Waits
from agent.outbox.spool import Batch, Spool
from aggregator.wire import MEDIA_TYPE, Receipt

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GAP_S = 1.0
LONGEST_S = 300.0
MOST = 500
MOST_BYTES = 1 << 20
ANSWER_BYTES = 1 << 20
OK, MULTIPLE = 200, 300
UNKNOWN = 401
DENIED = {UNKNOWN, 403}
TOO_MUCH = {400, 413, 422}
TIMEOUTS = Waits(total_s=60.0, connect_s=10.0, read_s=30.0)

Result = Literal["accepted", "too_much", "denied", "foreign", "failed"]


class Refusal(msgspec.Struct, frozen=True):
    """What is read of a problem document; `rejected` has each line that cannot be taken."""

    detail: str = ""
    rejected: dict[str, str] = {}


class From(msgspec.Struct, frozen=True):
    """Whose a report is."""

    node: str = ""


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """Time and chance; only durations count here, so a step of the wall clock changes nothing."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    monotonic: Callable[[], float] = time.monotonic
    uniform: Callable[[float, float], float] = random.uniform


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one batch; `wait_s` is what the server asked for.

    `unknown`: the credential is none that the server knows, or no longer. `paused` is the
    receipt's, None without one.
    """

    result: Result
    detail: str = ""
    rejected: int = 0
    paused: bool | None = None
    receipt: Receipt | None = None
    wait_s: float = 0.0
    unknown: bool = False


async def _never() -> bool:
    return False


class Sender:
    """Posts batch after batch as long as it runs; nothing is let go of before it is accepted.

    *credential* gives the bearer token anew for each batch, so that it can rotate; *renew* is asked
    where the server does not know it, and says whether there is another now. *say* gets one
    line when delivery begins to fail, for each new reason, and when it works again; *on_answer*
    each answer, for what it says beside.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        url: str,
        credential: Callable[[], str],
        renew: Callable[[], Awaitable[bool]] = _never,
        tls: ssl.SSLContext | None = None,
        on_answer: Callable[[Answer], None] = lambda _: None,
        say: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        self._spool = spool
        self._base = url
        self._url = url.rstrip("/") + "/v1/reports"
        self._credential = credential
        self._renew = renew
        self._tls = tls
        self._on_answer = on_answer
        self._say = say
        self._clock = clock or Clock()
        self._failures = 0
        self._said = ""
        self._most = MOST
        self.last_accepted: float | None = None

    async def run(self) -> None:
        """Send until cancelled."""
        with closing(Exchange(self._base, self._tls)) as aggregator:
            while True:
                batch = await self._spool.batch(self._most, MOST_BYTES)
                if batch.records:
                    pause_s = await self._deliver(aggregator, batch.first(self._most))
                    await self._clock.sleep(pause_s)
                else:
                    await self._spool.wait()

    async def _deliver(self, aggregator: Exchange, batch: Batch) -> float:
        """Send one batch and settle it; return the seconds until the next."""
        answer = await self._post(aggregator, batch)
        self._on_answer(answer)
        if answer.result == "accepted":
            await self._accepted(batch, answer)
            return max(GAP_S, answer.wait_s)
        if answer.result == "too_much" and len(batch.records) > 1:
            self._most = len(batch.records) // 2
            return GAP_S
        if answer.result == "too_much" or (answer.result == "foreign" and self._renamed(batch)):
            await self._spool.acknowledge(batch, rejected=len(batch.records))
        self._once(f"{self._url}: {answer.detail}")
        if answer.unknown and await self._renew():
            return max(GAP_S, answer.wait_s)
        return max(answer.wait_s, self._back_off(answer.result))

    async def _accepted(self, batch: Batch, answer: Answer) -> None:
        await self._spool.acknowledge(batch, rejected=answer.rejected)
        if answer.rejected:
            self._once(f"{self._url}: {answer.rejected} reports refused, {answer.detail}")
        elif self._said:
            self._said = ""
            self._say(f"{self._url}: reports are accepted again")
        self._failures = 0
        self._most = min(MOST, self._most * 2)
        self.last_accepted = self._clock.monotonic()

    def _renamed(self, batch: Batch) -> bool:
        """Return whether all of a batch is from before this node got the name that it has now.

        Nobody will take those any more: the credential is the new name's.
        """
        now = self._spool.node
        names = {msgspec.json.decode(body, type=From).node for _, body in batch.records}
        return now is not None and now not in names

    def _back_off(self, result: Result) -> float:
        """Return 1 s to 5 min, the whole span at random, so that nodes do not come in step."""
        self._failures += 1
        if result in {"denied", "foreign"}:
            return self._clock.uniform(LONGEST_S / 2, LONGEST_S)
        return self._clock.uniform(1.0, min(LONGEST_S, 2.0 ** min(self._failures, 10)))

    def _once(self, line: str) -> None:
        if line != self._said:
            self._said = line
            self._say(line)

    async def _post(self, aggregator: Exchange, batch: Batch) -> Answer:
        body = zstd.compress(b"\n".join(record for _, record in batch.records) + b"\n")
        headers = {
            "Authorization": f"Bearer {self._credential()}",
            "Content-Type": MEDIA_TYPE,
            "Content-Encoding": "zstd",
        }
        try:
            # Of an answer that is too long, too little is read to be a receipt.
            reply = await aggregator.ask(
                "POST", "/v1/reports", body, headers, cap=ANSWER_BYTES, waits=TIMEOUTS
            )
        except Unanswered as problem:
            return Answer(result="failed", detail=str(problem))
        return _judge(reply, len(batch.records))


def _judge(reply: Reply, count: int) -> Answer:
    status = reply.status
    wait_s = _wait_s(reply.retry_after)
    if OK <= status < MULTIPLE:
        return _receipt(reply.body, count)
    refusal = _refusal(reply.body)
    detail = f"status {status}"
    if status in DENIED and len(refusal.rejected) < count:
        detail += ", the credential is refused; enrol this node again"
        unknown = status == UNKNOWN
        return Answer(result="denied", detail=detail, wait_s=wait_s, unknown=unknown)
    detail += f", {refusal.detail[:200]}" if refusal.detail else ""
    result: Result = "failed"
    if status in DENIED:
        result = "foreign"
    elif status in TOO_MUCH:
        result = "too_much"
    return Answer(result=result, detail=detail, wait_s=wait_s)


def _refusal(text: bytes) -> Refusal:
    try:
        return msgspec.json.decode(text, type=Refusal)
    except (msgspec.DecodeError, RecursionError):
        return Refusal()


def _receipt(text: bytes, count: int) -> Answer:
    """Read a receipt; one that does not account for every record is none, so nothing is let go."""
    try:
        receipt = msgspec.json.decode(text, type=Receipt)
    except (msgspec.DecodeError, RecursionError):
        return Answer(result="failed", detail="answers 2xx without a receipt; is a proxy between?")
    rejected = len(receipt.rejected)
    if receipt.accepted + receipt.duplicates + rejected != count:
        return Answer(result="failed", detail="the receipt does not account for all reports")
    why = next(iter(receipt.rejected.values()), "")[:200]
    return Answer(
        result="accepted",
        detail=why,
        rejected=rejected,
        paused=receipt.paused,
        receipt=receipt,
    )


def _wait_s(text: str) -> float:
    return min(LONGEST_S, float(text)) if text.isdecimal() else 0.0
