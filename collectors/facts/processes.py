"""The processes of a node, in the form that all who look at them share."""

import msgspec

from collectors.facts.observation import Observation


class Process(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """One process; `start_s` is seconds after boot, `state` the kernel's letter (D, Z, S ...).

    `processor` is where it ran last, `ran_s` how long it ran on processors in all.
    """

    pid: int
    comm: str
    state: str
    ppid: int
    start_s: float
    kernel: bool = False
    processor: int | None = None
    ran_s: float = 0.0


class ProcessTable(Observation, frozen=True, kw_only=True):
    """All processes at one time; `uptime_s` is seconds since boot."""

    processes: tuple[Process, ...]
    uptime_s: float
