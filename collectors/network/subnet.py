"""The subnet manager of each InfiniBand port, as it answers, and as it was before."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.ibping import Said
from collectors.network.ports import Port, Ports
from collectors.node.protocol import Node

DEADLINE_S = 15.0
SAID_CAP = 200
# How often one that never answered is asked in a row, and then every so many looks: each hour.
PATIENCE, SELDOM = 3, 12

# A LID that no subnet manager gave.
NO_LID = (None, 0, 0xFFFF)
# Debian and Fedora call the unit opensm, the vendor's packages opensmd.
UNITS = tuple(f"/etc/systemd/system/*.wants/{name}.service" for name in ("opensm", "opensmd"))
# Debian's unit starts one of its own for each port, unless its settings say PORTS=NONE.
DEFAULTS = "/etc/default/opensm"
NO_PORTS = re.compile(r"^PORTS=[\"']?NONE", re.MULTILINE)
# A unit has a cgroup while it runs: cgroup v2, v1 and hybrid.
SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
RUNNING = tuple(
    f"{place}/{unit}/cgroup.procs"
    for place in SLICES
    for unit in ("opensm*.service", "system-opensm.slice/opensm@*.service")
)
SERVERS = tuple(f"{place}/gpudiag-ibping@*.service/cgroup.procs" for place in SLICES)

# sminfo: sm lid 1 sm guid 0x506b4b0300a1b2c4, activity count 5120 priority 14 state 3 SMINFO_MASTER
ANSWER = re.compile(
    r"sminfo: sm lid (?P<lid>\d{1,5}) sm guid 0x(?P<guid>[0-9a-f]{1,16}), "
    r"activity count \d{1,10} priority (?P<priority>\d{1,2}) state \d SMINFO_(?P<state>[A-Z]{1,16})"
)
# /usr/sbin/sminfo: iberror: failed: query
SILENT = "failed: query"


class Manager(msgspec.Struct, frozen=True, kw_only=True):
    """What the manager of one port (`mlx5_0/1`) said of itself; `said` is the tool's own line.

    `answers` is False where it did not. `guid`, `lid` and `state` are None then.
    """

    port: str
    answers: bool
    said: str
    lid: int | None = None
    guid: str | None = None
    priority: int | None = None
    state: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """That `what` ("manager" or "lid") of a port became another, `ago_s` before the last look."""

    port: str
    what: str
    before: str
    after: str
    ago_s: float


class SubnetManagers(Observation, frozen=True, kw_only=True):
    """The managers of the active InfiniBand ports.

    `answered` are the ports whose manager answered this agent before. `enabled` and `running` are
    the files that say that opensm is to run here, and that it does; `running` is None where
    that cannot be seen. `serving` are the devices on which our `ibping -S` runs.
    """

    managers: tuple[Manager, ...] = ()
    answered: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    unasked: Missing | None = None
    enabled: str | None = None
    running: bool | None = None
    serving: tuple[str, ...] = ()


class Managers:
    """Managers watched from now on."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._changes: dict[tuple[str, str], tuple[str, float]] = {}
        self._silent: dict[str, int] = {}
        self._last: dict[str, Manager] = {}

    async def collect(
        self, node: Node, wanted: Wanted, ports: Ports | Missing
    ) -> SubnetManagers | Missing:
        """Ask the manager of each active InfiniBand port, and see whether opensm runs here."""
        del wanted
        if isinstance(ports, Missing):
            return ports
        seen = await node.files(DEFAULTS, *RUNNING, *SERVERS, names=(*UNITS, *SLICES), cap=4096)
        if isinstance(seen, Missing):
            return seen
        active = asked(ports)
        due = [port for port in active if self._due(port.name)]
        got = await ask(node, "sminfo", [port.device for port in due]) if due else []
        managers = self._answers(active, due, [] if isinstance(got, Missing) else got)
        unasked = got if isinstance(got, Missing) else next(filter(None, map(refused, got)), None)
        answered = tuple(sorted(port for what, port in self._known if what == "manager"))
        at = node.monotonic()
        for port in active:
            if port.lid not in NO_LID:
                self._take("lid", port.name, str(port.lid), at)
        for manager in managers:
            if manager.guid is not None:
                self._take("manager", manager.port, manager.guid, at)
        return SubnetManagers(
            managers=managers,
            answered=answered,
            changes=self._told(at),
            unasked=unasked,
            enabled=_enabled(seen),
            running=_running(seen),
            serving=_serving(seen),
        )

    def _due(self, port: str) -> bool:
        """Return whether to ask now: one that never answered may refuse, and logs each question."""
        silent = self._silent.get(port, 0)
        self._silent[port] = silent + 1
        return ("manager", port) in self._known or silent < PATIENCE or silent % SELDOM == 0

    def _answers(
        self, active: Sequence[Port], due: Sequence[Port], got: Sequence[Said]
    ) -> tuple[Manager, ...]:
        """Return the last word of each port's manager."""
        now = {port.name: answer(port, said) for port, said in zip(due, got, strict=False)}
        self._last |= now
        return tuple(self._last[port.name] for port in active if port.name in self._last)

    def _take(self, what: str, port: str, now: str, at: float) -> None:
        before = self._known.get((what, port), now)
        self._known[what, port] = now
        if before != now:
            self._changes[what, port] = (before, at)

    def _told(self, at: float) -> tuple[Change, ...]:
        return tuple(
            Change(
                port=port,
                what=what,
                before=before,
                after=self._known[what, port],
                ago_s=round(at - when, 1),
            )
            for (what, port), (before, when) in sorted(self._changes.items())
        )


async def collect(node: Node, wanted: Wanted, ports: Ports | Missing) -> SubnetManagers | Missing:
    """Look once: who runs long keeps `Managers`."""
    return await Managers().collect(node, wanted, ports)


def asked(ports: Ports) -> list[Port]:
    """Return the ports by which a manager can be asked: port 1 of each card that is in use."""
    return [
        port
        for port in ports.ports
        if port.active and port.infiniband and not port.virtual and port.port == 1
    ]


async def ask(node: Node, kind: str, devices: Sequence[str]) -> list[Said] | Missing:
    """Ask a verb for what a tool prints of each device."""
    got: Any = await node.ask(kind, deadline_s=DEADLINE_S, devices=list(devices))
    if isinstance(got, Missing):
        return got
    try:
        said = msgspec.convert(got, list[Said])
    except ValueError as problem:
        return Missing(what=kind, cause=Cause.GARBLED, detail=str(problem)[:SAID_CAP])
    if len(said) != len(devices):
        detail = f"{len(said)} answers for {len(devices)} devices"
        return Missing(what=kind, cause=Cause.GARBLED, detail=detail)
    return said


def refused(said: Said) -> Missing | None:
    """Return why the tool itself said nothing of a manager, None where it did."""
    if said.missing is not None:
        return Missing(what="sminfo", cause=said.missing, detail=said.detail[:SAID_CAP])
    if ANSWER.search(said.stdout) or SILENT in said.stdout + said.stderr:
        return None
    lines = (said.stdout + said.stderr).strip().splitlines() or ["no output"]
    return Missing(what="sminfo", cause=Cause.GARBLED, detail=lines[-1][:SAID_CAP])


def answer(port: Port, said: Said) -> Manager:
    """Return what one port's manager said."""
    hit = ANSWER.search(said.stdout)
    if hit is None:
        lines = (said.stdout + said.stderr).strip().splitlines() or [said.detail]
        return Manager(port=port.name, answers=False, said=lines[0][:SAID_CAP])
    return Manager(
        port=port.name,
        answers=True,
        said=hit[0],
        lid=int(hit["lid"]),
        guid=f"0x{hit['guid']}",
        priority=int(hit["priority"]),
        state=hit["state"],
    )


def _enabled(seen: Files) -> str | None:
    if NO_PORTS.search(seen.get(DEFAULTS) or ""):
        return None
    return next((path for path in sorted(seen.texts) if ".wants/" in path), None)


def _running(seen: Files) -> bool | None:
    if any(text.strip() for path in RUNNING for _, text in seen.match(path)):
        return True
    return False if any(place in seen.texts for place in SLICES) else None


def _serving(seen: Files) -> tuple[str, ...]:
    units = {unit for path in SERVERS for (unit,), text in seen.match(path) if text.strip()}
    return tuple(sorted(u.removeprefix("gpudiag-ibping@").removesuffix(".service") for u in units))
