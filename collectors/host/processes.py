"""Every process, from /proc/PID/stat and comm: cheap, and safe beside a stuck one."""

import re

from collectors.facts.observation import Cause, Missing
from collectors.facts.processes import Process, ProcessTable
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# 218734 (python) D 218001 218734 218001 0 -1 4194304 1 0 0 0 9 4 0 0 20 0 1 0 813 ...
STAT = re.compile(
    r"(?P<pid>\d+) \((?P<comm>.*)\) (?P<state>\w) (?P<ppid>\d+) (?P<rest>.*)", re.DOTALL
)
FLAGS, USER, SYSTEM, START, PROCESSOR = 4, 9, 10, 17, 34
KTHREAD = 0x00200000
TICKS_S = 100.0


async def collect(node: Node, wanted: Wanted) -> ProcessTable | Missing:
    """Read the stat file of every process in one question."""
    del wanted
    seen = await node.files("/proc/[0-9]*/stat", "/proc/uptime", cap=4096)
    if isinstance(seen, Missing):
        return seen
    uptime = re.match(r"\d+\.\d+", seen.get("/proc/uptime") or "")
    processes = tuple(p for _, text in seen.match("/proc/[0-9]*/stat") if (p := parse(text)))
    if uptime is None or not processes:
        return Missing(what="ProcessTable", cause=Cause.GARBLED, detail="/proc holds no processes")
    return ProcessTable(processes=processes, uptime_s=float(uptime[0]))


def parse(text: str) -> Process | None:
    """Return the process of one stat line, or None where it is not whole.

    The name may hold spaces, brackets and line ends: it ends at the last `) `.
    """
    hit = STAT.fullmatch(text.strip())
    rest = hit["rest"].split() if hit else []
    if hit is None or len(rest) <= START or not (rest[START].isdigit() and rest[FLAGS].isdigit()):
        return None
    return Process(
        pid=int(hit["pid"]),
        comm=hit["comm"],
        state=hit["state"],
        ppid=int(hit["ppid"]),
        start_s=int(rest[START]) / TICKS_S,
        kernel=bool(int(rest[FLAGS]) & KTHREAD),
        processor=_number(rest, PROCESSOR),
        ran_s=((_number(rest, USER) or 0) + (_number(rest, SYSTEM) or 0)) / TICKS_S,
    )


def _number(rest: list[str], index: int) -> int | None:
    return int(rest[index]) if len(rest) > index and rest[index].isdigit() else None
