"""What this node should have, by the first who says: the settings, Slurm, Kubernetes."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import owner
from collectors.facts.wanted import Expect, Wanted
from collectors.node.protocol import Node

WHAT = "Slurm's configuration"
OWN_CGROUP = "/proc/self/cgroup"
CONFINING = frozenset({"slurm", "kubernetes", "docker", "podman"})

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

    @property
    def who(self) -> str:
        """Return who expects it, in words."""
        if self.provisional:
            return "what this node had before"
        return f"{self.source} line {self.line}" if self.line else self.source


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What the node's parts had before, by the file `source` that keeps it.

    `widths` are PCIe lanes and `generations` the highest one of a GPU, by its PCI address;
    `rates` are Gb/s of a port, by its name (`mlx5_0/1`). `usual` are means of whole hours, oldest
    first and the one that ended last at the end, by rate and part: `nfs_rtt_ms /data`,
    `disk_wait_ms nvme0n1`, `replays_per_s 0000:1c:00.0`.
    """

    source: str
    widths: Mapping[str, int] = {}
    generations: Mapping[str, int] = {}
    rates: Mapping[str, float] = {}
    usual: Mapping[str, tuple[float, ...]] = {}


class Expected(Observation, frozen=True, kw_only=True):
    """What this node should have; None where nobody says.

    `product` is part of the driver's name of the GPUs that count. `silent` are sources that could
    not be read though they may be there. `confined` is true where we run in a job or container
    ourselves: the driver shows us only its GPUs then. `before` is what single parts had.
    """

    gpus: Stated | None = None
    product: str | None = None
    ib_ports: Stated | None = None
    ib_rate_gbps: Stated | None = None
    nvme: Stated | None = None
    silent: tuple[Missing, ...] = ()
    confined: bool = False
    before: Before | None = None


class Source(msgspec.Struct, frozen=True):
    """What one file says of this node."""

    gpus: int
    path: str
    line: int | None = None
    text: str | None = None


class Scheduled(msgspec.Struct, frozen=True):
    """The whole answer to `scheduled`; `refused` are files that could not be read."""

    slurm: Source | None = None
    kubernetes: Source | None = None
    refused: tuple[str, ...] = ()


async def collect(node: Node, wanted: Wanted) -> Expected | Missing:
    """Take the settings' word; ask for the schedulers' where they leave the GPUs open."""
    expect = wanted.expect
    gpus: Stated | Missing | None = stated(expect, "gpus")
    if gpus is None:
        gpus = await _scheduled(node)
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


async def _scheduled(node: Node) -> Stated | Missing | None:
    answer = await node.ask("scheduled", deadline_s=5.0)
    if isinstance(answer, Missing):
        return msgspec.structs.replace(answer, what=WHAT)
    try:
        said = msgspec.convert(answer, Scheduled)
    except msgspec.ValidationError as problem:
        return Missing(what=WHAT, cause=Cause.GARBLED, detail=str(problem))
    if said.slurm is not None:
        return _by("slurm", said.slurm)
    if said.refused:
        detail = f"{said.refused[0]} cannot be read"
        return Missing(what=WHAT, cause=Cause.DENIED, detail=detail)
    return _by("kubernetes", said.kubernetes) if said.kubernetes is not None else None


def _by(by: By, said: Source) -> Stated:
    return Stated(number=said.gpus, by=by, source=said.path, line=said.line, text=said.text)


async def _confined(node: Node) -> bool:
    seen = await node.files(OWN_CGROUP)
    text = None if isinstance(seen, Missing) else seen.get(OWN_CGROUP)
    return owner(text or "").kind in CONFINING
