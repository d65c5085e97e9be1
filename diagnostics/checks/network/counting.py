"""What counters may rise by: one row a counter, with its unit, its window and its limit.

Sources of the limits: NVSentinel's NIC monitor [NVS] where a row says so, IBTA's bit error rate of
1e-12 for symbol errors in an hour, and our own default [D] where nobody published one.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from collectors.network.rising import Rises
from diagnostics.finding import Severity

# Three readings of 10 s: a burst when a job ends on the other side is over by then.
READINGS = 3
Unit = Literal["s", "min", "h"]
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One counter's limit: more than `most` a `per` is told as `fault`.

    Rates a second and a minute must hold for three readings. `once` is the severity of a single
    reading, which a walk without a daemon makes.
    """

    counter: str
    fault: str
    most: float
    per: Unit
    what: str
    severity: Severity = "warning"
    once: Severity = "warning"


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """One counter over its limit."""

    row: Row
    rate: float
    severity: Severity
    single: bool

    @property
    def words(self) -> str:
        """Return the rate and what it is measured by."""
        if self.row.per == "h":
            limit = f"limit {self.row.most:g}" if self.row.most else "none is meant to be"
            return f"{self.row.what}: {self.rate:,.0f} within an hour ({limit})"
        over = "in one reading" if self.single else f"in {READINGS} readings"
        limit = f"limit {self.row.most:g}" if self.row.most else "none is meant to be"
        return f"{self.row.what}: {self.rate:,.3g}/{self.row.per} {over} ({limit})"


def breaches(rises: Rises, rows: Sequence[Row], single: bool) -> Iterator[Breach]:  # noqa: FBT001 - what it says
    """Yield the rows that *rises* is over; *single* where there was one reading only."""
    for row in rows:
        if row.per == "h":
            rate = float(rises.hour.get(row.counter, 0))
        else:
            rate = rises.steadily(row.counter, READINGS) * SECONDS[row.per]
            if not single and len(rises.per_s.get(row.counter, ())) < READINGS:
                continue
        if rate > row.most:
            severity = row.once if single else row.severity
            yield Breach(row=row, rate=rate, severity=severity, single=single)
