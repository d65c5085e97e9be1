"""This machine, or a root folder of it given with `--root`."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.helpers.forked import Forks
from collectors.helpers.helper import Helper, Open
from collectors.helpers.link import Child, Connection
from collectors.helpers.pool import Pool
from collectors.helpers.turn import Turn
from collectors.node.command import Commands
from collectors.node.kinds import DRIVER, KINDS, resource
from collectors.node.protocol import Identity, LogText
from collectors.node.tools import candidates

READER_SOCKET = "/run/gpudiag/reader.sock"
LOG_CAP = 16 << 20
CHILDREN = "collectors.helpers.children"
# How a process that forks is asked for each child.
FORKED = {"reader": b"\n", "interfaces": b"\n", "nvml": b"d"}
# What a busy moment needed beside them is ended sooner than helpers that keep something.
WAIT_S = 20.0
# Resources that bear one question at a time, whichever program of ours asks.
ONE_AT_A_TIME = ("nvml", "bmc", "smart")
# Who the node is changes with a new name, and is asked for with each observation.
IDENTITY_S = 30.0
# They go on reading where they stopped, or keep files open, so that they keep their helper.
KEPT = ("kernel_log", "links", "nvml")


def child_argv(name: str) -> tuple[str, ...]:
    """Return the command line of a helper: isolated from the user's environment."""
    return (sys.executable, "-I", "-m", f"{CHILDREN}.{name}")


def _thing(resource: str) -> str:
    """Return `smart` of `smart:/dev/nvme0`."""
    return resource.partition(":")[0]


class Live:
    """The machine itself; every file, tool and call is read by another process."""

    def __init__(
        self,
        *,
        root: str = "/",
        tools: Mapping[str, str] | None = None,
        reader_socket: str = READER_SOCKET,
    ) -> None:
        self.root = root
        self._tools = tools or {}
        self._reader_socket = reader_socket
        self._all_rights = os.geteuid() == 0
        self._commands = Commands()
        self._helpers: dict[str, Helper] = {}
        self._forks: Forks | None = None
        self._pools: dict[str, Pool] = {}
        self._turns: dict[str, Turn] = {}
        self._identity: tuple[float, Identity] | None = None

    def take_turns(self, folder: str) -> None:
        """Ask what bears one at a time in turns with others; opens files, so before a loop runs."""
        opened = {name: Turn.open(folder, name) for name in ONE_AT_A_TIME}
        self._turns = {name: turn for name, turn in opened.items() if turn is not None}

    def share_helpers(self) -> None:
        """Fork helpers from one process, and let all resources share them: for who runs long."""
        # What follows the module's name are the arguments of the driver's helper.
        _, _, _, _, *driver = child_argv("nvml")
        self._forks = Forks((*child_argv("forks"), json.dumps(dict(self._tools)), *driver))
        opened = partial(Connection.open, self._reader_socket)
        self._pools = {"own": Pool(self._forks.start), "unit": Pool(opened)}

    async def identity(self) -> Identity:
        """Return host name, boot id and kernel release as files said them within IDENTITY_S."""
        if self._identity is not None and self.monotonic() - self._identity[0] < IDENTITY_S:
            return self._identity[1]
        seen = await self._identified()
        # What could not be read is read again.
        self._identity = (self.monotonic(), seen) if seen.boot_id is not None else None
        return seen

    async def _identified(self) -> Identity:
        seen = await self.files(
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/random/boot_id",
            "/proc/sys/kernel/osrelease",
            "/etc/hostname",
        )
        if isinstance(seen, Missing):
            return Identity(node="unknown", boot_id=None, kernel=None)
        name = seen.get("/proc/sys/kernel/hostname") or seen.get("/etc/hostname")
        return Identity(
            node=name or "unknown",
            boot_id=seen.get("/proc/sys/kernel/random/boot_id"),
            kernel=seen.get("/proc/sys/kernel/osrelease"),
        )

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Read all files that match, in a helper with our own rights."""
        got = await self._helper("files").ask(
            "files",
            deadline_s=deadline_s,
            root=self.root,
            patterns=list(patterns),
            names=list(names),
            cap=cap,
        )
        return got if isinstance(got, Missing) else Files(texts=got["texts"], errors=got["errors"])

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        """Run a tool of the tool table; under another root, nothing is run."""
        if self.root != "/":
            return self._other_root(tool)
        missing: Output | Missing = Missing(
            what=tool, cause=Cause.NO_TOOL, detail=f"{tool} is not installed"
        )
        for path in candidates(tool, self._tools):
            got = await self._commands.run((path, *args), deadline_s=deadline_s)
            if not (isinstance(got, Missing) and got.cause is Cause.NO_TOOL):
                return got
        return missing

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Ask the helper that owns this kind of question; without rights, the reader's unit."""
        known = KINDS[kind]
        if self.root != "/":
            if not known.files:
                return self._other_root(kind)
            args["root"] = self.root
        if known.privileged and not self._all_rights:
            return await self._ask_unit(kind, deadline_s, args)
        helper = self._helper(resource(kind, args), child=known.child)
        return await helper.ask(kind, deadline_s=deadline_s, **args)

    async def _ask_unit(self, kind: str, deadline_s: float, args: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        if self.root != "/":
            return self._denied(kind, "only root sees this")
        name = f"unit:{resource(kind, args)}"
        if name not in self._helpers:
            opened = partial(Connection.open, self._reader_socket)
            self._helpers[name] = self._pooled("unit", kind, opened, _thing(resource(kind, args)))
        got = await self._helpers[name].ask(kind, deadline_s=deadline_s, **args)
        if isinstance(got, Missing) and got.cause is Cause.DENIED:
            return self._denied(kind, f"only root sees this, and {got.detail}")
        return got

    @staticmethod
    def _denied(kind: str, detail: str) -> Missing:
        return Missing(what=kind, cause=Cause.DENIED, detail=detail, verb=kind)

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        """Return the last 16 MiB of a log that a person named."""
        helper = self._helper(f"log:{path}")
        got = await helper.ask("log_tail", deadline_s=deadline_s, path=path, cap=LOG_CAP)
        if isinstance(got, Missing):
            return Missing(what=path, cause=got.cause, detail=got.detail)
        return LogText(path=path, **got)

    def _helper(self, name: str, *, child: str = "reader") -> Helper:
        if name not in self._helpers:
            argv = child_argv(child)
            if child == "reader" and self._tools:
                argv += ("--tools", json.dumps(dict(self._tools)))
            start: Open = partial(Child.start, argv)
            if self._forks is None or child not in FORKED:
                turn = self._turns.get(_thing(name))
                self._helpers[name] = Helper(name, start, where=self._where, turn=turn)
            else:
                fork = partial(self._forks.start, FORKED[child])
                self._helpers[name] = self._pooled("own", name, fork, _thing(name))
        return self._helpers[name]

    def _pooled(self, pool: str, name: str, start: Open, thing: str) -> Helper:
        """Return a helper that takes its process from the pool, where there is one for it."""
        where = self._where if pool == "own" else None
        turn = self._turns.get(thing)
        if pool not in self._pools or name in KEPT:
            return Helper(name, start, where=where, turn=turn)
        shared = self._pools[pool]
        return Helper(name, shared.take, where=where, give_back=shared.put, turn=turn)

    async def _where(self, pid: int) -> str:
        """Say where in the kernel a stuck helper stands."""
        stat, wchan = f"/proc/{pid}/stat", f"/proc/{pid}/wchan"
        other = self._helper("where")
        got = await other.ask(
            "files", deadline_s=2.0, root="/", patterns=[stat, wchan], names=[], cap=4096
        )
        if isinstance(got, Missing):
            return f"pid {pid}"
        state = got["texts"].get(stat, "").rpartition(")")[2].split()[:1]
        return f"pid {pid}, state {''.join(state) or '?'}, in {got['texts'].get(wchan) or '?'}"

    @staticmethod
    def _other_root(what: str) -> Missing:
        return Missing(
            what=what, cause=Cause.NOT_RECORDED, detail="only files are seen under --root"
        )

    def helpers(self) -> list[Helper]:
        """Return every helper, whether it runs or not."""
        return list(self._helpers.values())

    def pids(self) -> list[int]:
        """Return every process that works for us now."""
        forks = self._forks.pid if self._forks is not None else None
        pids = [forks, *(helper.pid for helper in self._helpers.values())]
        waiting = [pid for pool in self._pools.values() for pid in pool.pids()]
        return [*(pid for pid in pids if pid is not None), *waiting]

    def rest(self, idle_s: float) -> None:
        """End helpers that nobody asked for *idle_s*, and forget those of which nothing is left."""
        for pool in self._pools.values():
            pool.rest(min(idle_s, WAIT_S))
        for name, helper in list(self._helpers.items()):
            if helper.rest(idle_s):
                del self._helpers[name]

    async def release_driver(self, why: str | None) -> None:
        """Let go of the driver's devices and answer *why* instead; with None, ask it again."""
        async with asyncio.TaskGroup() as group:
            for kind in DRIVER:
                helper = self._helper(KINDS[kind].resource, child=KINDS[kind].child)
                group.create_task(helper.hold_back(why))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def now(self) -> float:
        """Return the wall clock."""
        return time.time()

    def monotonic(self) -> float:
        """Return the monotonic clock."""
        return time.monotonic()

    def branch(self) -> Self:
        """Return this node: real time passes for all at once."""
        return self

    def join(self, branches: Iterable[Self]) -> None:
        """Do nothing: real time has passed by itself."""

    async def close(self) -> None:
        """Let go of all helpers and tools at once; done within 5 s."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._commands.close())
            for helper in self._helpers.values():
                group.create_task(helper.close())
            for pool in self._pools.values():
                group.create_task(pool.close())
            if self._forks is not None:
                group.create_task(self._forks.close())
