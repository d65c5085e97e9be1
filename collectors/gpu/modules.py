"""The driver as the kernel and the file system show it, without asking the driver itself."""

import re

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

NAMES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nouveau")
PROC_VERSION = "/proc/driver/nvidia/version"
FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    # The GPU Operator keeps the driver of its container here.
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
)
LIBRARIES = ("libnvidia-ml", "libcuda")

# NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.173.02  Tue Jun 23 08:38:17 UTC 2026
# NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.173.02  Release Build  (root@host)
VERSION = re.compile(r"\b\d{3,4}\.\d{1,3}(?:\.\d{1,3})?\b")
# libnvidia-ml.so.580.173.02; the links libcuda.so and libcuda.so.1 name no version
LIBRARY = re.compile(r"lib[a-z-]+\.so\.(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)")


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded kernel module; `state` is live, coming (its start has not ended) or going."""

    name: str
    state: str
    version: str | None = None
    users: int | None = None


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a driver library; its file name carries the driver's version."""

    folder: str
    name: str
    version: str


class DriverModules(Observation, frozen=True, kw_only=True):
    """Modules that are loaded, and copies of the libraries; `open_source` tells their kind."""

    modules: tuple[Module, ...] = ()
    libraries: tuple[Library, ...] = ()
    open_source: bool | None = None

    def module(self, name: str) -> Module | None:
        """Return a module, None where it is not loaded."""
        return next((m for m in self.modules if m.name == name), None)

    @property
    def live(self) -> bool:
        """Return whether the driver's own module is loaded and has started."""
        nvidia = self.module("nvidia")
        return nvidia is not None and nvidia.state == "live"


async def collect(node: Node, wanted: Wanted) -> DriverModules | Missing:
    """Read module states and versions; libraries by their names alone."""
    del wanted
    seen = await node.files(
        *(f"/sys/module/{n}/{f}" for n in NAMES for f in ("initstate", "version", "refcnt")),
        PROC_VERSION,
        names=[f"{folder}/{name}.so.*" for folder in FOLDERS for name in LIBRARIES],
    )
    if isinstance(seen, Missing):
        return seen
    said = seen.get(PROC_VERSION)
    return DriverModules(
        modules=tuple(m for name in NAMES if (m := _module(seen, name))),
        libraries=tuple(
            Library(folder=folder, name=name, version=hit[1])
            for folder in FOLDERS
            for name in LIBRARIES
            for file in seen.names(f"{folder}/{name}.so.*")
            if (hit := LIBRARY.fullmatch(file))
        ),
        open_source=None if said is None else "Open Kernel Module" in said.partition("\n")[0],
    )


def _module(seen: Files, name: str) -> Module | None:
    state = seen.get(f"/sys/module/{name}/initstate")
    if state is None:
        return None
    version = seen.get(f"/sys/module/{name}/version")
    if name == "nvidia" and version is None:
        version = proc_version(seen.get(PROC_VERSION) or "")
    users = seen.get(f"/sys/module/{name}/refcnt") or ""
    return Module(
        name=name,
        state=state.strip(),
        version=version,
        users=int(users) if re.fullmatch(r"\d{1,9}", users) else None,
    )


def proc_version(text: str) -> str | None:
    """Return the version in the first line of /proc/driver/nvidia/version, in either spelling."""
    first = text.partition("\n")[0]
    hit = VERSION.search(first) if first.startswith("NVRM version:") else None
    return hit[0] if hit else None
