"""Files that GPU processes have open for writing."""

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices, owner
from collectors.facts.wanted import Wanted
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


async def collect(node: Node, wanted: Wanted, held: HeldDevices | Missing) -> OpenFiles | Missing:
    """Ask what those who hold a GPU have open."""
    del wanted
    if isinstance(held, Missing):
        return held
    outside = [one for one in held.holders if owner(one.cgroup).container is None]
    if not outside:
        return OpenFiles(devices=held.devices)
    return await _opened(node, held.devices, outside[:MOST_PROCESSES])


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
