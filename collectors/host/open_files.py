"""Files that GPU processes have open for writing."""

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices, owner
from collectors.facts.wanted import Wanted
from collectors.host.holders import DEVICES
from collectors.node.protocol import Node

MOST_PROCESSES = 256


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """One path that a process has open for writing, as the node names it."""

    pid: int
    comm: str
    path: str


class OpenFiles(Observation, frozen=True, kw_only=True):
    """What the GPU processes write; `devices` counts /dev/nvidiaN, 0 on a node without GPU.

    Processes in containers are not among them: a path there means another file than on the node.
    """

    devices: int
    processes: int = 0
    files: tuple[OpenFile, ...] = ()


async def collect(node: Node, wanted: Wanted) -> OpenFiles | Missing:
    """Ask who holds a GPU, then what those have open."""
    del wanted
    seen = await node.files(names=(DEVICES,))
    if isinstance(seen, Missing):
        return seen
    if not (devices := len(seen.names(DEVICES))):
        return OpenFiles(devices=0)
    answer = await node.ask("holders", deadline_s=5.0)
    if isinstance(answer, Missing):
        return answer
    try:
        held = msgspec.convert(answer, HeldDevices).holders
    except msgspec.ValidationError as problem:
        return Missing(what="holders", cause=Cause.GARBLED, detail=str(problem))
    outside = [entry for entry in held if owner(entry.cgroup).container is None][:MOST_PROCESSES]
    if not outside:
        return OpenFiles(devices=devices)
    return await _opened(node, devices, outside)


async def _opened(node: Node, devices: int, held: list[Held]) -> OpenFiles | Missing:
    answer = await node.ask("open_files", deadline_s=5.0, pids=[entry.pid for entry in held])
    if isinstance(answer, Missing):
        return answer
    try:
        paths = msgspec.convert(answer, dict[str, list[str]])
    except msgspec.ValidationError as problem:
        return Missing(what="open_files", cause=Cause.GARBLED, detail=str(problem))
    files = tuple(
        OpenFile(pid=entry.pid, comm=entry.comm, path=path)
        for entry in held
        for path in paths.get(str(entry.pid), ())
    )
    return OpenFiles(devices=devices, processes=len(held), files=files)
