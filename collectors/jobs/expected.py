"""What this node should have, by the first who says: the settings, Slurm, Kubernetes."""

import re
from typing import Literal

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.owner import owner
from collectors.facts.wanted import Expect, Wanted
from collectors.jobs import slurm_conf
from collectors.jobs.slurm_conf import Said
from collectors.node.protocol import Node

# The second is where slurmd keeps what it was sent by the controller ("configless").
FOLDERS = ("/etc/slurm", "/run/slurm/conf", "/etc/slurm-llnl", "/usr/local/etc/slurm")
KUBELET = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
RESOURCES = frozenset({"nvidia.com/gpu", "nvidia.com/gpu.shared"})
OWN_CGROUP = "/proc/self/cgroup"
CONFINING = frozenset({"slurm", "kubernetes", "docker", "podman"})
PLAIN = re.compile(r"\w[\w.-]{0,80}\.conf")
CAP = 1 << 20
MOST_INCLUDED = 16

# `fleet` (what most nodes of this product have) and `past` (what this node had) are not known to
# a walk on the node alone: whoever knows them puts them into the observation.
By = Literal["settings", "slurm", "kubernetes", "fleet", "past"]


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """A number, who states it, and where: a file with its line, or the table of the settings."""

    number: float
    by: By
    source: str
    line: int | None = None
    text: str | None = None

    @property
    def binding(self) -> bool:
        """Return whether a person or the scheduler says so, who would place jobs by it."""
        return self.by in ("settings", "slurm")

    @property
    def provisional(self) -> bool:
        """Return whether it was only learnt from this node."""
        return self.by == "past"


class Expected(Observation, frozen=True, kw_only=True):
    """What this node should have; None where nobody says.

    `product` is part of the driver's name of the GPUs that count. `silent` are sources that could
    not be read though they may be there. `confined` is true where we run in a job or container
    ourselves: the driver shows us only its GPUs then.
    """

    gpus: Stated | None = None
    product: str | None = None
    ib_ports: Stated | None = None
    ib_rate_gbps: Stated | None = None
    nvme: Stated | None = None
    silent: tuple[Missing, ...] = ()
    confined: bool = False


class Registered(msgspec.Struct, frozen=True):
    """The devices that plugins registered, by resource."""

    devices: dict[str, list[str] | None] | None = msgspec.field(
        name="RegisteredDevices", default=None
    )


class Checkpoint(msgspec.Struct, frozen=True):
    """The kubelet's file; the rest of it is a checksum."""

    data: Registered = msgspec.field(name="Data", default=Registered())


async def collect(node: Node, wanted: Wanted) -> Expected | Missing:
    """Take the settings' word; look into the schedulers' files for what they leave open."""
    expect = wanted.expect
    gpus: Stated | Missing | None = stated(expect, "gpus")
    if gpus is None:
        gpus = await _slurm(node)
    if gpus is None or isinstance(gpus, Missing):
        gpus = await _kubernetes(node) or gpus
    return Expected(
        gpus=None if isinstance(gpus, Missing) else gpus,
        product=expect.product,
        ib_ports=stated(expect, "ib_ports"),
        ib_rate_gbps=stated(expect, "ib_rate_gbps"),
        nvme=stated(expect, "nvme"),
        silent=(gpus,) if isinstance(gpus, Missing) else (),
        confined=await _confined(node),
    )


def stated(expect: Expect, name: str) -> Stated | None:
    """Return what the settings say."""
    number = getattr(expect, name)
    if number is None:
        return None
    source = "the settings' table [expect]"
    return Stated(number=number, by="settings", source=source, text=f"{name} = {number:g}")


async def _confined(node: Node) -> bool:
    seen = await node.files(OWN_CGROUP)
    text = None if isinstance(seen, Missing) else seen.get(OWN_CGROUP)
    return owner(text or "").kind in CONFINING


async def _slurm(node: Node) -> Stated | Missing | None:
    patterns = [f"{folder}/{name}.conf" for folder in FOLDERS for name in ("slurm", "gres")]
    seen = await node.files(*patterns, cap=CAP)
    if isinstance(seen, Missing):
        return seen
    folder = next((f for f in FOLDERS if f"{f}/slurm.conf" in seen.texts), None)
    if folder is None:
        return None
    included = await _included(node, folder, seen)
    if isinstance(included, Missing):
        return included
    host = (await node.identity()).node
    for name in ("slurm", "gres"):
        for path, text in ((p, t) for p, t, kind in included if kind == name):
            parse = slurm_conf.in_slurm_conf if name == "slurm" else slurm_conf.in_gres_conf
            if said := parse(text, host):
                return _by_slurm(path, said)
    return None


async def _included(node: Node, folder: str, seen: Files) -> list[tuple[str, str, str]] | Missing:
    """Return (path, text, kind) of both files and of what they include from the same folder."""
    found: list[tuple[str, str, str]] = []
    for kind in ("slurm", "gres"):
        path = f"{folder}/{kind}.conf"
        text = seen.texts.get(path)
        if text is None:
            continue
        found.append((path, text, kind))
        if more := [p for name in slurm_conf.includes(text) if (p := _beside(folder, name))]:
            got = await node.files(*more[:MOST_INCLUDED], cap=CAP)
            if isinstance(got, Missing):
                return got
            found += [(p, got.texts[p], kind) for p in more if p in got.texts]
    return found


def _beside(folder: str, name: str) -> str | None:
    """Return the path of an included file; one elsewhere, or with a password in it, is not read."""
    if name.startswith("/"):
        parent, _, name = name.rpartition("/")
    else:
        parent = folder
    plain = parent == folder and PLAIN.fullmatch(name) and name != "slurmdbd.conf"
    return f"{folder}/{name}" if plain else None


def _by_slurm(path: str, said: Said) -> Stated:
    line = said.line
    return Stated(number=said.gpus, by="slurm", source=path, line=line.number, text=line.text[:200])


async def _kubernetes(node: Node) -> Stated | None:
    # Only root can read it, and most nodes have none: that nobody says is no blind spot.
    seen = await node.files(KUBELET, cap=CAP)
    text = None if isinstance(seen, Missing) else seen.get(KUBELET)
    gpus = registered(text) if text else None
    return Stated(number=gpus, by="kubernetes", source=KUBELET) if gpus else None


def registered(text: str) -> int | None:
    """Return how many GPUs the device plugin registered, None where it registered parts of them."""
    # {"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"nvidia.com/gpu":["GPU-5d..."]}},...}
    try:
        devices = msgspec.json.decode(text, type=Checkpoint).data.devices or {}
    except (msgspec.DecodeError, UnicodeError):
        return None
    names = [name for resource in RESOURCES for name in devices.get(resource) or ()]
    if any(not name.startswith("GPU-") for name in names):
        return None
    # With time-slicing one GPU is registered several times, GPU-5d...::0, GPU-5d...::1
    return len({name.partition("::")[0] for name in names}) or None
