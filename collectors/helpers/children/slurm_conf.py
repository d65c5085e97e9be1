"""How many GPUs Slurm's configuration says a node has: slurm.conf, then gres.conf."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Parameter names are written in any case:
# NodeName=gpu[001-016] CPUs=192 RealMemory=2063000 Gres=gpu:h100:8,mps:400 State=UNKNOWN
# NodeName=gpu[001-016] Name=gpu Type=h100 File=/dev/nvidia[0-7] Cores=0-95
PARAMETER = re.compile(r'([A-Za-z]{1,40})=("[^"]*"|\S*)')
# Include /etc/slurm/nodes.conf
INCLUDE = re.compile(r"(?i:include)\s+(\S{1,200})\s*")
# gpu[001-016,020],login1 : commas inside brackets separate ranges
HOST = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
BRACKET = re.compile(r"\[([^\]]*)\]")
RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
# /dev/nvidia3   /dev/nvidia[0-3,5]
DEVICE = re.compile(r"/dev/nvidia(?:(\d{1,3})|\[([\d,-]{1,200})\])")
COUNT = re.compile(r"\d{1,4}")
# A MIG profile as a GRES type, 1g.10gb or a100_3g.20gb: such a count is of instances.
INSTANCE = re.compile(r"\dg\.\d+gb", re.IGNORECASE)
MOST_DEVICES = 128
RESOURCES = frozenset({"gres", "name", "type", "count", "file"})


class Line(NamedTuple):
    """One statement of a configuration file; `number` is the line on which it begins."""

    number: int
    text: str

    def resources(self) -> str:
        """Return what it says of resources, without the names and addresses of nodes."""
        named = PARAMETER.findall(self.text)
        return " ".join(f"{name}={value}" for name, value in named if name.lower() in RESOURCES)

    def parameters(self) -> dict[str, str]:
        """Return its parameters by name in small letters."""
        return {name.lower(): value.strip('"') for name, value in PARAMETER.findall(self.text)}


class Said(NamedTuple):
    """A number of GPUs, and the line that states it."""

    gpus: int
    line: Line


def lines(text: str) -> Iterator[Line]:
    r"""Yield the statements: no comments, and lines joined that end in a backslash."""
    held: list[str] = []
    start = 0
    for number, raw in enumerate(text.splitlines(), 1):
        bare = re.split(r"(?<!\\)#", raw, maxsplit=1)[0].rstrip()
        start = start or number
        held.append(bare.removesuffix("\\"))
        if bare.endswith("\\"):
            continue
        if joined := " ".join(held).strip():
            yield Line(start, joined)
        held, start = [], 0
    if joined := " ".join(held).strip():
        yield Line(start, joined)


def includes(text: str) -> list[str]:
    """Return the files that a configuration file includes, as they are written."""
    return [hit[1] for line in lines(text) if (hit := INCLUDE.fullmatch(line.text))]


def in_slurm_conf(text: str, host: str) -> Said | None:
    """Return what the node's line of slurm.conf says, over what its DEFAULT line says."""
    default: Said | None = None
    for line in lines(text):
        said = line.parameters()
        if "nodename" not in said:
            continue
        gpus = gres(said["gres"]) if "gres" in said else None
        stated = Said(gpus, line) if gpus is not None else None
        if said["nodename"].upper() == "DEFAULT":
            default = stated if "gres" in said else default
        elif named(said.get("nodehostname") or said["nodename"], host):
            return stated if "gres" in said else default
    return None


def gres(value: str) -> int | None:
    """Return the number of GPUs in a list of resources, None where it is no number of GPUs."""
    gpus: list[int] = []
    for item in value.split(","):
        name, *rest = item.split("(")[0].strip().split(":")
        if name.lower() != "gpu":
            continue
        rest = [part for part in rest if part.lower() != "no_consume"]
        if any(INSTANCE.search(part) for part in rest):
            return None
        if rest and COUNT.fullmatch(rest[-1]):
            gpus.append(int(rest[-1]))
        elif rest and rest[-1][:1].isdigit():
            return None
        else:
            gpus.append(1)
    return sum(gpus) if gpus else None


def in_gres_conf(text: str, host: str) -> Said | None:
    """Return how many GPUs the lines of gres.conf for this node name, by file or by count.

    None where they leave it to AutoDetect, or name parts of GPUs.
    """
    devices: set[int] = set()
    counted = 0
    first: Line | None = None
    for line in lines(text):
        said = line.parameters()
        if said.get("name", "").lower() != "gpu" or not named(said.get("nodename", host), host):
            continue
        if "multiplefiles" in said or INSTANCE.search(said.get("type", "")):
            return None
        found = _devices(said.get("file", ""))
        if not found and not COUNT.fullmatch(said.get("count", "")):
            continue
        devices |= found
        counted += 0 if found else int(said["count"])
        first = first or line
    return Said(len(devices) + counted, first) if first else None


def _devices(value: str) -> set[int]:
    found: set[int] = set()
    for one, several in DEVICE.findall(value):
        spans = [RANGE.fullmatch(part) for part in (one or several).split(",")]
        for low, high in ((s[1], s[2] or s[1]) for s in spans if s):
            found |= set(range(int(low), min(int(high), int(low) + MOST_DEVICES) + 1))
    return found


def named(hosts: str, host: str) -> bool:
    """Return whether a list of hosts, `gpu[001-016,020],login1`, names this host."""
    short = host.partition(".")[0]
    return any(_one(part, name) for part in HOST.findall(hosts) for name in {host, short})


def _one(pattern: str, host: str) -> bool:
    literals = BRACKET.split(pattern)
    texts, brackets = literals[::2], literals[1::2]
    expression = r"(\d{1,9})".join(map(re.escape, texts))
    hit = re.fullmatch(expression, host)
    return hit is not None and all(
        _within(number, ranges.split(","))
        for number, ranges in zip(hit.groups(), brackets, strict=True)
    )


def _within(number: str, ranges: Iterable[str]) -> bool:
    """Return whether a number lies in one of the ranges, written with as many zeros."""
    for part in ranges:
        span = RANGE.fullmatch(part)
        if span is None:
            continue
        low, high = span[1], span[2] or span[1]
        # 001-016 names 007 and not 7; 8-12 names 9 and 10.
        width = len(low) if low.startswith("0") else 1
        if int(low) <= int(number) <= int(high) and number == number.lstrip("0").zfill(width):
            return True
    return False
