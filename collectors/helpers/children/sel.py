"""The BMC's event log: records by id, backwards from the newest; nothing is ever taken out."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from collectors.helpers.children import ipmi
from collectors.helpers.children.ipmi import Reply
from collectors.helpers.children.loop import Refused
from collectors.helpers.children.sdr import stamp

INFO, CLOCK = (0x0A, 0x40), (0x0A, 0x48)
ENTRY = (0x0A, 0x43, 0, 0)
FIRST, LAST = 0x0000, 0xFFFF
MOST_ENTRIES = 512
MOST_UNTIMED = 32
AT_ONCE = 32
MOST_STEP = 64
RECORD = 16
DAY_S = 86_400
# Below this a time counts seconds since the BMC started (37); all ones say that none is known.
SET_FROM = 0x20000000
UNKNOWN = 0xFFFFFFFF
SYSTEM_EVENT = 0x02
# Completion code: no record has this id (5.2). Any other one is of a record that was not given.
ABSENT = 0xCB
OEM_UNTIMED = 0xE0

Names = Mapping[int, str]


class Log(NamedTuple):
    """The log as it is now: its newest id, the step between ids, and the BMC's clock."""

    total: int
    full: bool
    first: int
    last: int
    step: int
    clock: int | None


def entries(after: int, names: Names, seconds: float) -> dict[str, Any]:
    """Return the entries after id *after*, or where that is negative, those of the last 24 h."""
    end = time.monotonic() + seconds
    log = _log(seconds)
    known = {"total": log.total, "full": log.full, "last": log.last}
    # A log that was emptied starts again: an id from before means nothing in it.
    after = after if after <= log.last else -1
    wanted = range(log.last, max(after, log.first - 1), -log.step)[:MOST_ENTRIES]
    if after < 0 and log.clock is None:
        wanted = wanted[:MOST_UNTIMED]
    found: list[bytes] = []
    truncated, declined = False, 0
    for at in range(0, len(wanted), AT_ONCE):
        if (left := end - time.monotonic()) <= 0:
            truncated = True
            break
        records, refused = _records(wanted[at : at + AT_ONCE], left)
        declined += refused
        kept = [record for record in records if after >= 0 or _recent(record, log)]
        found += kept
        if len(kept) < len(records) or not records:
            # A BMC that declines a whole lot of them is not asked for all the others.
            truncated = bool(refused) and at + AT_ONCE < len(wanted)
            break
    answer = [entry(record, names, log.clock, time.time()) for record in reversed(found)]
    known |= {"declined": declined, "truncated": truncated or len(found) >= MOST_ENTRIES}
    return {**known, "entries": answer}


def _log(seconds: float) -> Log:
    asks = (INFO, CLOCK, _get(FIRST), _get(LAST))
    info, clock, first, last = ipmi.ask(asks, seconds)
    if info.code != 0 or len(info.data) < 14:  # noqa: PLR2004 - 31.2: flags are byte 15
        raise Refused("crashed", "the BMC does not tell of its event log")
    total = info.data[1] | info.data[2] << 8
    now = stamp(clock.data) if clock.code == 0 and len(clock.data) > 3 else 0  # noqa: PLR2004 - four bytes
    ids = [_id(reply) for reply in (first, last)]
    if not total:
        return Log(0, bool(info.data[13] & 0x80), 0, 0, 1, None)
    if None in ids:
        raise Refused("crashed", "the BMC does not give the entries of its event log")
    low, high = (number or 0 for number in ids)
    step = (first.data[0] | first.data[1] << 8) - low
    return Log(
        total=total,
        full=bool(info.data[13] & 0x80),
        first=low,
        last=high,
        step=step if 0 < step <= MOST_STEP else 1,
        clock=now if SET_FROM <= now < UNKNOWN else None,
    )


def _get(number: int) -> ipmi.Request:
    return (*ENTRY, number & 0xFF, number >> 8, 0, 0xFF)


def _id(reply: Reply) -> int | None:
    if reply.code != 0 or len(reply.data) < 2 + RECORD:
        return None
    return reply.data[2] | reply.data[3] << 8


def _records(numbers: Sequence[int], seconds: float) -> tuple[list[bytes], int]:
    """Return the records, and how many were not given though they may be there."""
    replies = ipmi.ask([_get(number) for number in numbers], seconds)
    # An id may have been taken out by others, or lie between two steps.
    there = [reply for reply in replies if reply.code != ABSENT]
    given = [reply.data[2 : 2 + RECORD] for reply in there if _id(reply) is not None]
    return given, len(there) - len(given)


def _recent(record: bytes, log: Log) -> bool:
    """Return whether a record is of the last 24 h, or of a time that nobody knows."""
    at = when(record)
    return at is None or log.clock is None or log.clock - at < DAY_S


def when(record: bytes) -> int | None:
    """Return a record's time by the BMC's clock, where that was set then."""
    if record[2] >= OEM_UNTIMED:
        return None
    at = stamp(record[3:7])
    return at if SET_FROM <= at < UNKNOWN else None


def entry(record: bytes, names: Names, clock: int | None, now: float) -> dict[str, Any]:
    """Return one record as plain data; its time by our clock, which the BMC's may be hours off."""
    at = when(record)
    known = at is not None and clock is not None
    seen: dict[str, Any] = {
        "id": record[0] | record[1] << 8,
        "time": round(now - (clock - at))
        if at is not None and clock is not None and known
        else None,
        "record_type": record[2],
    }
    if record[2] != SYSTEM_EVENT:
        return {**seen, "data": list(record[3:RECORD])}
    return seen | {
        "sensor_type": record[10],
        "sensor": record[11],
        "name": names.get(record[11]),
        "event": record[12] & 0x7F,
        "asserted": not record[12] & 0x80,
        "offset": record[13] & 0x0F,
        "data": list(record[13:RECORD]),
    }
