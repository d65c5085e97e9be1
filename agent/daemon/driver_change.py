"""Let go of the driver by ourselves while its package, library or module changes.

A module that somebody has open cannot be unloaded, and a process that has an old library open asks
the new module in a language that it refuses. So who upgrades the driver finds it unused by us
without having said so; `gpudiag release-gpus` is for what no file shows: a reset, a change of MIG.
"""

from collections.abc import Awaitable, Callable

import msgspec

from agent.daemon.log import Log
from agent.daemon.releasing import Releasing
from collectors.facts.observation import Missing, Observation
from collectors.gpu.modules import DriverModules
from collectors.gpu.packages import DriverPackages
from collectors.node.protocol import Node

PERIOD_S = 10.0
# A package manager unpacks and builds for minutes; what then still differs waits for a reboot.
LONGEST_S = 30 * 60.0
LIBRARY = "libnvidia-ml"

# Looks at a source: what was seen within so many seconds, or now.
Look = Callable[[type[Observation], float], Awaitable[Observation | Missing]]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """The driver's versions; None is "not seen", a module of "" is none that is live.

    Libraries are those on disk, packages those that the package manager lists as installed.
    """

    module: str | None = None
    libraries: tuple[str, ...] | None = None
    packages: tuple[str, ...] | None = None

    @property
    def agree(self) -> bool:
        """Return whether the module is loaded and all that is told is of its version."""
        told = (self.libraries, self.packages)
        return bool(self.module) and all(not of or self.module in of for of in told)

    @property
    def any(self) -> bool:
        """Return whether there is a driver at all."""
        return bool(self.module or self.libraries or self.packages)

    def words(self) -> str:
        """Return it in words: `module 580.95.05, library 580.126.09`."""
        parts = {"library": self.libraries, "packages": self.packages}
        told = (f"{name} {' and '.join(of)}" for name, of in parts.items() if of)
        return ", ".join((f"module {self.module or 'not loaded'}", *told))


def changed(before: Installed, now: Installed) -> bool:
    """Return whether something that was seen both times differs."""
    then, later = msgspec.structs.asdict(before), msgspec.structs.asdict(now)
    return any(None not in (then[key], later[key]) and then[key] != later[key] for key in then)


def with_modules(known: Installed, seen: DriverModules) -> Installed:
    """Return *known* with the module and libraries that are *seen*."""
    nvidia = seen.module("nvidia")
    libraries = {library.version for library in seen.libraries if library.name == LIBRARY}
    return msgspec.structs.replace(
        known,
        module=(nvidia and seen.live and nvidia.version) or "",
        libraries=tuple(sorted(libraries)),
    )


def with_packages(known: Installed, seen: DriverPackages) -> Installed:
    """Return *known* with the packages that are *seen*."""
    versions = {package.version for package in seen.packages}
    return msgspec.structs.replace(known, packages=tuple(sorted(versions)))


class DriverChange:
    """Watches the driver's versions; says once that it lets go, and once that it asks again."""

    def __init__(self, node: Node, look: Look, releasing: Releasing, log: Log) -> None:
        self._node = node
        self._look = look
        self._releasing = releasing
        self._log = log
        self._known = Installed()
        self._until = 0.0

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            await self.step()
            await self._node.sleep(PERIOD_S)

    async def step(self) -> None:
        """Look once, and let go or take up again."""
        before = self._known
        now = self._known = await self._see()
        if before.any and changed(before, now):
            await self._let_go(before, now)
        if self._releasing.changing is None:
            return
        if now.agree or self._node.monotonic() >= self._until:
            self._log.info("driver_asked_again", now=now.words(), agree=now.agree)
            await self._releasing.take_up()

    async def _let_go(self, before: Installed, now: Installed) -> None:
        if self._releasing.changing is None:
            self._until = self._node.monotonic() + LONGEST_S
            self._log.warning("driver_changes", before=before.words(), now=now.words())
        await self._releasing.let_go(
            f"the driver is being changed ({now.words()}); it is asked again when all are of one "
            f"version, at the latest {LONGEST_S / 60:.0f} min after it began"
        )

    async def _see(self) -> Installed:
        """Return what is installed now; what cannot be seen is as it was."""
        known = self._known
        seen = await self._look(DriverModules, PERIOD_S / 2)
        after = with_modules(known, seen) if isinstance(seen, DriverModules) else known
        # The package manager is a program to start: asked anew only where something moves.
        moves = changed(known, after) or self._releasing.changing is not None
        told = await self._look(DriverPackages, PERIOD_S / 2 if moves else float("inf"))
        return with_packages(after, told) if isinstance(told, DriverPackages) else after
