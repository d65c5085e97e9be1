"""The driver's packages as the system's package manager lists them."""

import re

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import bus
from collectors.node.protocol import Node

DEADLINE_S = 4.0
# No node has near as many; what a broken list says beyond them is left out.
MOST = 64

# Both programs read `\n` in a format themselves. rpm lists what is installed and nothing else.
ARGV = {
    "dpkg-query": (
        "-W",
        "-f",
        r"${Package} ${Version} ${db:Status-Status}\n",
        "nvidia-driver-*",
        "nvidia-kernel-*",
        "libnvidia-compute-*",
        "nvidia-dkms-*",
    ),
    "rpm": (
        "-qa",
        "--qf",
        r"%{NAME} %{VERSION} installed\n",
        "nvidia-driver*",
        "nvidia-kmod*",
        "kmod-nvidia*",
        "akmod-nvidia*",
    ),
}
# dpkg-query ends with 1 where one of the patterns names no package it knows, with 2 on an error.
ANSWERED = (0, 1)

# nvidia-dkms-550-server 550.54.15-0ubuntu0.22.04.1 installed
# nvidia-driver-535 535.183.01-0ubuntu1 config-files
# nvidia-kernel-common 20220217+3 installed: not a driver's version
PACKAGE = re.compile(
    r"([A-Za-z0-9][\w.+-]{0,99}) "
    r"(?:\d{1,4}:)?(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)(?:[-+~]\S*)? installed",
    re.ASCII,
)


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """An installed package; `version` is the driver's own part of the package's version."""

    name: str
    version: str


class DriverPackages(Observation, frozen=True, kw_only=True):
    """Installed packages of the driver, as `tool` lists them; None where no such tool is."""

    tool: str | None = None
    packages: tuple[Package, ...] = ()


async def collect(node: Node, wanted: Wanted) -> DriverPackages | Missing:
    """Ask the first package manager that is there, and only where a GPU is on the bus."""
    seen = await bus.collect(node, wanted)
    if isinstance(seen, Missing):
        return seen
    if not seen.gpus:
        return DriverPackages()
    for tool, args in ARGV.items():
        got = await node.command(tool, *args, deadline_s=DEADLINE_S)
        if not isinstance(got, Missing):
            if got.status not in ANSWERED:
                detail = f"{tool} ended with status {got.status}"
                return Missing(what=tool, cause=Cause.CRASHED, detail=detail)
            return DriverPackages(tool=tool, packages=installed(got.stdout))
        if got.cause is not Cause.NO_TOOL:
            return got
    return DriverPackages()


def installed(text: str) -> tuple[Package, ...]:
    """Return the installed packages that carry a driver's version, each name and version once."""
    hits = (PACKAGE.fullmatch(line) for line in text.splitlines())
    pairs = dict.fromkeys((hit[1], hit[2]) for hit in hits if hit)
    return tuple(Package(name=name, version=version) for name, version in pairs)[:MOST]
