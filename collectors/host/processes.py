"""Every process, from /proc/PID/stat and comm: cheap, and safe beside a stuck one."""

import re

from collectors.facts.observation import Cause, Missing
from collectors.facts.processes import Process, ProcessTable
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# 218734 (python) D 218001 218734 218001 0 -1 4194304 1 0 0 0 9 4 0 0 20 0 1 0 813 ...
# Fields by their place behind the name, as proc(5) counts them less 3.
STATE, PARENT, FLAGS, USER, SYSTEM, START, PROCESSOR = 0, 1, 6, 11, 12, 19, 36
KTHREAD = 0x00200000
TICKS_S = 100.0
STATS, UPTIME = "/proc/[0-9]*/stat", "/proc/uptime"


class Listing:
    """Processes listed again and again: one that did nothing is as it was, and is not read anew."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Process]] = {}

    async def collect(self, node: Node, wanted: Wanted) -> ProcessTable | Missing:
        """Read the stat file of every process in one question."""
        del wanted
        seen = await node.files(STATS, UPTIME, cap=4096)
        if isinstance(seen, Missing):
            return seen
        uptime = re.match(r"\d+\.\d+", seen.get(UPTIME) or "")
        texts = ((path, text) for path, text in seen.texts.items() if path != UPTIME)
        read = {path: one for path, text in texts if (one := self._read(path, text)) is not None}
        self._known = read
        # Thousands of texts: they are put in order by the number that each holds.
        found = sorted((one for _, one in read.values()), key=lambda process: process.pid)
        if uptime is None or not found:
            detail = "/proc holds no processes"
            return Missing(what="ProcessTable", cause=Cause.GARBLED, detail=detail)
        return ProcessTable(processes=tuple(found), uptime_s=float(uptime[0]))

    def _read(self, path: str, text: str) -> tuple[str, Process] | None:
        known = self._known.get(path)
        if known is not None and known[0] == text:
            return known
        process = parse(text)
        return None if process is None else (text, process)


async def collect(node: Node, wanted: Wanted) -> ProcessTable | Missing:
    """Read the stat file of every process in one question."""
    return await Listing().collect(node, wanted)


def parse(text: str) -> Process | None:
    """Return the process of one stat line, or None where it is not whole.

    The name may hold spaces, brackets and line ends: it ends at the last `) `.
    """
    head, _, tail = text.rpartition(") ")
    pid, _, comm = head.partition(" (")
    rest = tail.split(None, PROCESSOR + 1)
    try:
        return Process(
            pid=int(pid),
            comm=comm,
            state=rest[STATE][:1],
            ppid=int(rest[PARENT]),
            start_s=int(rest[START]) / TICKS_S,
            kernel=bool(int(rest[FLAGS]) & KTHREAD),
            processor=int(rest[PROCESSOR]) if len(rest) > PROCESSOR else None,
            ran_s=(int(rest[USER]) + int(rest[SYSTEM])) / TICKS_S,
        )
    except (ValueError, IndexError):
        return None
