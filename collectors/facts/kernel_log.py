"""The kernel log of this boot, in the form that all who read it share."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from collectors.facts.observation import Observation

LogSource = Literal["kmsg", "journald", "syslog"]

# /proc/stat gives the time of boot in whole seconds. The log's clock runs free of NTP, which
# corrects the wall clock by some 100 parts in a million where a machine's crystal is poor.
BOOT_ERROR_S = 1.0
DRIFT = 1e-4


class Record(msgspec.Struct, frozen=True, kw_only=True):
    r"""One record; `boot_s` is its time in seconds after boot, `level` 0 (gravest) to 7.

    `facility` 0 is the kernel itself; 1 and above was written through /dev/kmsg by a program.
    Control characters in `text` stay as the kernel shows them, `\x0a` for a line end: a process
    can put one into its own name, and must not gain a line of its own by it.
    """

    sequence: int
    boot_s: float
    level: int
    facility: int
    text: str


class KernelLog(Observation, frozen=True, kw_only=True):
    """The records that are still kept, oldest first; `lost` counts those overwritten in between.

    `sequence` of the records and `boot_id` together are a cursor, with source `kmsg`; the other
    sources number by time. `boot_time` is the wall clock at boot (epoch seconds), `uptime_s` the
    seconds from then until the log was read; None where they are not known.
    """

    records: tuple[Record, ...]
    source: LogSource = "kmsg"
    lost: int = 0
    boot_id: str | None = None
    boot_time: float | None = None
    uptime_s: float | None = None

    def by_kernel(self, *, or_programs: bool = False) -> Iterator[Record]:
        """Yield the kernel's own records, and those of programs where they are asked for."""
        return (r for r in self.records if or_programs or r.facility == 0)

    def age_s(self, record: Record) -> float:
        """Return how long before the reading (or before the last record) *record* was written."""
        end = self.uptime_s
        if end is None:
            end = self.records[-1].boot_s if self.records else record.boot_s
        return max(end - record.boot_s, 0.0)

    def wall(self, record: Record) -> float | None:
        """Return the wall clock of *record*; it is off by the time spent suspended."""
        return None if self.boot_time is None else self.boot_time + record.boot_s

    def wall_error_s(self, record: Record) -> float | None:
        """Return how far off that wall clock can be, where the machine was never suspended."""
        return None if self.boot_time is None else round(BOOT_ERROR_S + DRIFT * record.boot_s, 1)
