"""What was changed on this node: what is seen now, held against what was seen before.

An incident tells what was changed on its parts in the 24 h before. Packages say themselves when
they were put in; firmware, serial numbers, settings and what was removed is seen here, with the
time of the look. The file is read by the collector of changes like any other.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from agent.daemon import state
from collectors.bmc.controller import Bmc
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.modules import DriverModules
from collectors.gpu.switches import NvSwitches
from collectors.host.changes import MOST, MOST_NOTED, NOTED, Noted, PackageChanges, found
from collectors.host.governor import CpuPolicies
from collectors.host.nvme import NvmeDrives
from collectors.jobs.nccl import NcclSettings
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.network.fec import Fec
from collectors.network.interface_settings import InterfaceSettings
from collectors.network.ports import Ports
from collectors.node.protocol import Node

NAME = PurePosixPath(NOTED).name
KEPT_S = 48 * 3600.0
# What is set to and fro within this is one change, told from first to last.
ONE_CHANGE_S = 3600.0
MOST_HAD, MOST_IMAGES, LONGEST = 4096, 256, 160
# Set in a container by Apptainer and by NVIDIA's own images.
IMAGE = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "NVIDIA_PYTORCH_VERSION")
NODE_CONF = "/etc/nccl.conf"
PART = "part"
COMPUTE = ("shared", "exclusive to a thread", "prohibited", "exclusive to a process")

Newest = Callable[[type[Observation]], Observation | Missing]
# Kind, name in a sentence, the thing as findings name it ("" for the node).
Key = tuple[str, str, str]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the node, and the serial number of what sits there."""

    name: str
    subject: str
    serial: str


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The file: what the node that is called `node` had, and what was changed lately."""

    schema: Literal["gpudiag.changes/1"] = "gpudiag.changes/1"
    node: str | None = None
    had: tuple[tuple[str, str, str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    images: tuple[str, ...] = ()
    changed: tuple[Noted, ...] = ()

    def known(self) -> dict[Key, str]:
        """Return all that the node had, serial numbers among it."""
        had = {(kind, name, about): value for kind, name, about, value in self.had}
        return had | {(PART, one.name, one.subject): one.serial for one in self.parts}


class KeptChanges:
    """The changes of this node; made before the loop runs, because it reads a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._writer: state.Writer | None = None
        self._kernel: str | None = None
        kept, self._damage = state.load(folder / NAME, Changes)
        self._kept = kept or Changes()

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, or was when it was read."""
        return (self._writer.problem if self._writer else None) or self._damage

    def begin(self, node: str, kernel: str | None) -> None:
        """Say how this node and its kernel are called; a copied disk has another node's past."""
        self._kernel = kernel
        if self._kept.node != node:
            self._kept = Changes(node=node)

    def learn(self, newest: Newest, now: float) -> None:
        """Take what is seen at *now* (epoch seconds), and note what differs from before.

        What is not seen stays as it was; what is seen for the first time is no change.
        """
        had = self._kept.known()
        seen = dict(_seen(newest, self._kernel))
        new = [
            _differs(now, k, had[k], value)
            for k, value in seen.items()
            # A package's manager says by itself when it put another version in.
            if k[0] != "package" and had.get(k, value) != value
        ]
        gone = _removed(newest, had)
        new += [Noted(time=now, kind="package", name=key[1], before=had[key]) for key in gone]
        had = {key: value for key, value in (had | seen).items() if key not in gone}
        images = self._images(newest)
        if self._kept.images:
            known = set(self._kept.images)
            new += [Noted(time=now, kind="image", name=n) for n, key in images if key not in known]
        self._keep(
            had=tuple((*k, v) for k, v in list(had.items())[-MOST_HAD:] if k[0] != PART),
            parts=tuple(
                Part(name=k[1], subject=k[2], serial=v) for k, v in had.items() if k[0] == PART
            )[-MOST_HAD:],
            images=tuple(dict.fromkeys((*self._kept.images, *(key for _, key in images))))[
                -MOST_IMAGES:
            ],
            changed=folded((*self._kept.changed, *new), now),
        )

    def _images(self, newest: Newest) -> list[tuple[str, str]]:
        """Return the images that jobs run in, each with what it is remembered by."""
        ranks = newest(LocalRanks)
        found = [_image(one) for one in ranks.ranks] if isinstance(ranks, LocalRanks) else []
        return [(one, _key(one)) for one in sorted({one for one in found if one})]

    def _keep(self, **parts: object) -> None:
        now = msgspec.structs.replace(self._kept, **parts)
        if now == self._kept:
            return
        self._kept = now
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        self._writer.put(now)

    async def collect(self, node: Node, wanted: Wanted) -> PackageChanges | Missing:
        """Look as the shipped collector does, and read the file of this folder."""
        del wanted
        return await found(node, str(self._folder / NAME))

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        return self._writer is None or self._writer.close(patience_s)


def folded(changes: tuple[Noted, ...], now: float) -> tuple[Noted, ...]:
    """Return the changes of the last 48 h; of one thing within an hour the first and last value."""
    kept: dict[Key, list[Noted]] = {}
    for one in changes:
        if now - one.time > KEPT_S:
            continue
        of_it = kept.setdefault((one.kind, one.name, one.subject), [])
        if of_it and one.time - of_it[-1].time < ONE_CHANGE_S:
            of_it[-1] = _joined(of_it[-1], one)
        else:
            of_it.append(one)
    left = [one for many in kept.values() for one in many if not _none(one)]
    return tuple(sorted(left, key=lambda one: (one.time, one.kind, one.name)))[-MOST_NOTED:]


def _differs(now: float, key: Key, before: str, after: str) -> Noted:
    kind, name, about = key
    if kind == PART:
        return Noted(time=now, kind=kind, name=name, subject=about, serial=(before, after))
    return Noted(time=now, kind=kind, name=name, subject=about, before=before, after=after)


def _joined(first: Noted, last: Noted) -> Noted:
    """Return two changes of one thing as one."""
    serial = (first.serial[0], last.serial[1]) if first.serial and last.serial else None
    return msgspec.structs.replace(first, after=last.after, serial=serial)


def _none(one: Noted) -> bool:
    """Return whether it was put back: what is new has no value before it."""
    if one.serial is not None:
        return one.serial[0] == one.serial[1]
    return one.before is not None and one.before == one.after


def _removed(newest: Newest, had: Mapping[Key, str]) -> list[Key]:
    """Return the packages that the manager knows no more."""
    packages = newest(PackageChanges)
    if not isinstance(packages, PackageChanges) or not 0 < len(packages.packages) < MOST:
        # None at all is an answer that cannot be, and a list that was cut says nothing of the rest.
        return []
    there = {one.name for one in packages.packages}
    return [key for key in had if key[0] == "package" and key[1] not in there]


def _seen(newest: Newest, kernel: str | None) -> Iterator[tuple[Key, str]]:
    """Yield what this node has now, each with its value as a sentence says it."""
    for key, value in _all(newest, kernel):
        if value not in (None, ""):
            yield key, str(value)[:LONGEST]


def _all(newest: Newest, kernel: str | None) -> Iterator[tuple[Key, object]]:
    yield ("driver", "the kernel", ""), kernel
    yield from _packages(newest)
    yield from _machine(newest)
    health = newest(GpuHealth)
    for gpu in health.answering() if isinstance(health, GpuHealth) else ():
        if gpu.pci:
            yield from _gpu(gpu, gpu.pci)
    yield from _network(newest)


def _packages(newest: Newest) -> Iterator[tuple[Key, object]]:
    packages = newest(PackageChanges)
    for one in packages.packages if isinstance(packages, PackageChanges) else ():
        yield ("package", one.name, ""), None if one.removed else one.version


def _machine(newest: Newest) -> Iterator[tuple[Key, object]]:
    bios, bmc, policies = newest(Bios), newest(Bmc), newest(CpuPolicies)
    if isinstance(bios, Bios):
        yield ("firmware", "the board (BIOS)", ""), bios.bios_version
    if isinstance(bmc, Bmc):
        yield ("firmware", "the BMC", ""), bmc.firmware
    if isinstance(policies, CpuPolicies):
        governors = sorted({one.governor for one in policies.policies})
        yield ("setting", "the CPU governor", ""), ", ".join(governors)
    modules, switches, drives = newest(DriverModules), newest(NvSwitches), newest(NvmeDrives)
    for module in modules.modules if isinstance(modules, DriverModules) else ():
        yield ("driver", f"the kernel module {module.name}", ""), module.version
    for switch in switches.switches if isinstance(switches, NvSwitches) else ():
        about = f"nvswitch {switch.address}"
        yield ("firmware", f"NVSwitch {switch.address}", about), switch.bios
    for drive in drives.drives if isinstance(drives, NvmeDrives) else ():
        yield (PART, f"the drive at {drive.address}", f"disk {drive.name}"), drive.serial


def _gpu(gpu: GpuReading, pci: str) -> Iterator[tuple[Key, object]]:
    about, called = f"gpu {pci}", f"GPU {pci}"
    yield (PART, called, about), gpu.serial
    yield ("firmware", called, about), gpu.vbios
    limit = gpu.power.limit_mw
    yield (
        ("setting", f"the power limit of {called}", about),
        None if limit is None else f"{limit / 1000:g} W",
    )
    yield ("setting", f"ECC of {called}", about), _switch(gpu.ecc.enabled)
    yield ("setting", f"MIG of {called}", about), _switch(gpu.modes.mig)
    yield ("setting", f"persistence mode of {called}", about), _switch(gpu.modes.persistence)
    mode = gpu.modes.compute
    if mode is not None and 0 <= mode < len(COMPUTE):
        yield ("setting", f"compute mode of {called}", about), COMPUTE[mode]


def _switch(on: bool | None) -> str | None:  # noqa: FBT001 - what NVML tells of a mode
    return None if on is None else ("on" if on else "off")


def _network(newest: Newest) -> Iterator[tuple[Key, object]]:
    ports, settings = newest(Ports), newest(InterfaceSettings)
    there = [port for port in ports.ports if not port.virtual] if isinstance(ports, Ports) else []
    for port in there:
        yield ("firmware", f"port {port.name}", f"port {port.name}"), port.fw_ver
    # Of the others many come and go with each container.
    known = {name for port in there for name in port.netdevs}
    for name, mtu in settings.mtu.items() if isinstance(settings, InterfaceSettings) else ():
        if name in known:
            yield ("setting", f"the MTU of {name}", f"nic {name}"), mtu
    fec, nccl = newest(Fec), newest(NcclSettings)
    for fast in fec.ports if isinstance(fec, Fec) else ():
        yield ("setting", f"FEC of {fast.name}", f"nic {fast.name}"), ", ".join(fast.active)
    for rank in nccl.ranks if isinstance(nccl, NcclSettings) else ():
        for name, setting in rank.settings.items():
            # What a job sets itself differs from job to job.
            if setting.source == NODE_CONF:
                yield ("setting", f"{name} in {NODE_CONF}", ""), setting.value


def _key(image: str) -> str:
    """Return a name that tells nothing: what users call their images is theirs."""
    return hashlib.sha256(image.encode("utf-8", "replace")).hexdigest()[:16]


def _image(rank: Rank) -> str | None:
    """Return the image that a rank runs in, without the folder that it lies in."""
    told = ((name, rank.environ.get(name)) for name in IMAGE)
    for name, value in told:
        if value:
            last = PurePosixPath(value).name[:LONGEST]
            return f"NVIDIA PyTorch {last}" if name == IMAGE[-1] else last
    return None
