"""The kernel log of this boot, as /dev/kmsg gives it."""

import msgspec

from collectors.facts.observation import Observation


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel record; `boot_s` is its time in seconds after boot, `facility` 0 is the kernel itself."""

    sequence: int
    boot_s: float
    level: int
    facility: int
    text: str


class KernelLog(Observation, frozen=True, kw_only=True):
    """The records still in the ring, oldest first; `lost` counts gaps in their sequence.

    `boot_time` is the wall clock at boot (epoch seconds), None where it is not known.
    """

    records: tuple[Record, ...]
    lost: int = 0
    boot_time: float | None = None
