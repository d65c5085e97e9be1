"""The time that a line carries, as far as it can be known from the line."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from diagnostics.rules.stamp import stamp

# A stamp without its zone is taken as UTC and can be as far off as zones go.
ANY_ZONE_S = 14 * 3600.0
DMESG_T_S = 1.0
LOOKED_AT = 400

ISO = re.compile(
    rb"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    rb"(?:[ ]?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?"
)
# Nov 30 02:11:09         [Mon Nov 30 02:11:09 2026] and, where months are numbered, [.. 11月 30 ..]
PLAIN = re.compile(
    rb"(?:(?P<month>[A-Z][a-z]{2})|(?P<number>\d{1,2})\xe6\x9c\x88)[ ]{1,2}(?P<day>\d{1,2})"
    rb"[ ](?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<part>\d{1,6}))?(?:[ ](?P<year>\d{4}))?"
)
SINCE = re.compile(rb"\[[ ]{0,7}(?P<seconds>\d{1,10}\.\d{6})\]")
MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# Syslog's stamps have no year: this one has every day that a year can have.
SOME_YEAR = 2000


class When(msgspec.Struct, frozen=True, kw_only=True):
    """`time` is the wall clock (epoch seconds), known to `error_s`; None where it is not said.

    `dated` and `booted` order the lines of one log: seconds of some year, seconds since boot.
    """

    time: float | None = None
    error_s: float | None = None
    dated: float | None = None
    booted: float | None = None

    def after_s(self, earlier: "When") -> float | None:
        """Return how many seconds this is after another line's; None where no clock is shared."""
        for mine, theirs in ((self.booted, earlier.booted), (self.dated, earlier.dated)):
            if mine is not None and theirs is not None:
                return max(mine - theirs, 0.0)
        return None


def when(line: bytes) -> When:
    """Return the time that a line carries in its stamp, or else near its beginning."""
    found = stamp(line, 0, len(line))
    if found and found["kmsg"]:
        return When(booted=int(found["kmsg"].split(b",")[2]) / 1e6)
    since = SINCE.search(line, 0, LOOKED_AT)
    booted = float(since["seconds"]) if since else None
    if iso := ISO.search(line, 0, LOOKED_AT):
        return _iso(iso, booted)
    if plain := PLAIN.search(line, 0, LOOKED_AT):
        return _plain(plain, booted)
    return When(booted=booted)


def ended(tail: bytes) -> When:
    """Return the time of the last line that carries one."""
    for line in reversed(tail.split(b"\n")):
        told = when(line)
        if told != When():
            return told
    return When()


def _iso(hit: re.Match[bytes], booted: float | None) -> When:
    seconds = _seconds(hit["day"].decode(), hit["clock"].decode())
    if seconds is None:
        return When(booted=booted)
    part = hit["part"] or b""
    seconds += int(part or b"0") / 10 ** len(part)
    error = 10.0 ** -len(part)
    zone = hit["zone"]
    if zone is None:
        return When(time=seconds, error_s=ANY_ZONE_S, dated=seconds, booted=booted)
    if zone[:1] in b"+-":
        sign = -1 if zone.startswith(b"-") else 1
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        seconds -= sign * timedelta(minutes=minutes).total_seconds()
    return When(time=seconds, error_s=error, dated=seconds, booted=booted)


def _plain(hit: re.Match[bytes], booted: float | None) -> When:
    number = int(hit["number"]) if hit["number"] else _month(hit["month"])
    year = int(hit["year"] or SOME_YEAR)
    day = f"{year:04}-{number:02}-{int(hit['day']):02}"
    seconds = _seconds(day, hit["clock"].decode())
    if seconds is None:
        return When(booted=booted)
    part = hit["part"] or b""
    seconds += int(part or b"0") / 10 ** len(part)
    if not hit["year"]:
        return When(dated=seconds, booted=booted)
    return When(time=seconds, error_s=ANY_ZONE_S + DMESG_T_S, dated=seconds, booted=booted)


def _month(name: bytes) -> int:
    return MONTHS.index(name) + 1 if name in MONTHS else 0


def _seconds(day: str, clock: str) -> float | None:
    """Return epoch seconds; None for a day that no calendar has, or a leap second's end."""
    try:
        told: Any = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
    return float(told.replace(tzinfo=UTC).timestamp())
