"""What processes of this machine cost: memory by its shares, and processor time."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TICKS_S = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Of several processes: memory in MiB, and processor seconds until now."""

    rss_mib: float
    pss_mib: float
    cpu_s: float


def cost(pids: Iterable[int]) -> Cost:
    """Return what these processes cost; one that is gone costs nothing more."""
    rss = pss = ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            memory = Path(f"/proc/{pid}/smaps_rollup").read_text()
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            rss += kib(memory, "Rss")
            pss += kib(memory, "Pss")
            # Also what ended children used: fields 14 to 17, which count from 1.
            ticks += sum(map(int, fields[11:15]))
    return Cost(rss / 1024, pss / 1024, ticks / TICKS_S)


def kib(memory: str, name: str) -> int:
    """Return one line of smaps_rollup."""
    hit = re.search(rf"^{name}:\s+(\d+) kB$", memory, re.MULTILINE)
    return int(hit[1]) if hit else 0


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    below = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            below += [int(child) for child in task.read_text().split()]
    return [pid, *(one for child in below for one in family(child))]
