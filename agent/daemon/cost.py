"""What the agent costs this node: processor time and memory of itself and of its helpers."""

import os
import re
import time
from collections.abc import Sequence

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.node.protocol import Node

PERIOD_S = 60.0
# The kernel walks all pages of a process to tell its PSS: once in so many looks.
EACH_MEMORY = 5
# Pss:               28131 kB
PSS = re.compile(r"^Pss:\s+(\d{1,12}) kB$", re.MULTILINE)
TICKS_S = os.sysconf("SC_CLK_TCK")
KIB = 1024


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Processor seconds since start, the share of a core over the last minute, and memory.

    Memory is PSS, at most five minutes old: what is shared counts for each by its part. The
    reader's unit is not in it.
    """

    cpu_s: float = 0.0
    core_share: float | None = None
    pss_bytes: int | None = None
    processes: int = 1


class Meter:
    """Measures; each time against the last."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._before: tuple[float, float] | None = None
        self._pss: int | None = None
        self._looks = 0

    async def measure(self, helpers: Sequence[int]) -> Cost:
        """Return the cost now; *helpers* are the processes that work for us."""
        pids = (os.getpid(), *helpers)
        memory = self._looks % EACH_MEMORY == 0 or self._pss is None
        self._looks += 1
        seen = await self._node.files(
            *(f"/proc/{pid}/smaps_rollup" for pid in pids if memory),
            *(f"/proc/{pid}/stat" for pid in pids),
        )
        self._pss = _pss(seen) if memory else self._pss
        at, used = self._node.monotonic(), _own() + _living(seen, helpers)
        share = None
        if self._before is not None and at > self._before[0]:
            # A helper that ended took what it had used out of the sum, until it is reaped.
            share = max(used - self._before[1], 0.0) / (at - self._before[0])
        self._before = (at, used)
        return Cost(cpu_s=used, core_share=share, pss_bytes=self._pss, processes=len(pids))


def _own() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _living(seen: Files | Missing, pids: Sequence[int]) -> float:
    if isinstance(seen, Missing):
        return 0.0
    return sum(_cpu(seen.get(f"/proc/{pid}/stat") or "") for pid in pids)


def _cpu(stat: str) -> float:
    """Return the seconds of /proc/PID/stat: fields 14 and 15, which count from 1."""
    fields = stat.rpartition(")")[2].split()
    try:
        return (int(fields[11]) + int(fields[12])) / TICKS_S
    except (IndexError, ValueError):
        return 0.0


def _pss(seen: Files | Missing) -> int | None:
    if isinstance(seen, Missing):
        return None
    found = [hit for _, text in seen.match("/proc/*/smaps_rollup") if (hit := PSS.search(text))]
    return sum(int(hit[1]) for hit in found) * KIB if found else None
