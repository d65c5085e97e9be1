"""Software RAID arrays, as /proc/mdstat lists them."""

import re
from collections.abc import Iterator

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PATH = "/proc/mdstat"
# md0 : active raid1 nvme1n1p2[1] nvme0n1p2[0](F)
# md127 : inactive nvme3n1[1](S) nvme2n1[0](S)
# md1 : active (auto-read-only) raid0 nvme5n1[1] nvme4n1[0]
HEAD = re.compile(
    r"(?P<name>md\S*) : (?P<state>active|inactive|broken)(?: \((?P<mode>[a-z-]+)\))?"
    r"(?: (?P<level>raid\d+|linear|faulty|multipath))?(?P<members>(?: [^\s\[]+\[\d+\]\S*)*)\s*"
)
MEMBER = re.compile(r"(?P<name>[^\s\[]+)\[\d+\](?P<flags>\S*)")
#       937560064 blocks super 1.2 [2/1] [U_]
UP = re.compile(r" \[(?P<want>\d{1,5})/(?P<have>\d{1,5})\] \[(?P<map>[U_]+)\]")
#       4784 blocks super external:imsm           (a container of arrays: never active itself)
CONTAINER = re.compile(r"super external:(?!/)")
#       [==>..................]  recovery = 12.6% (118270/937560) finish=68.1min speed=2005K/sec
#       resync=DELAYED                            (waits for another array on the same disks)
WORK = re.compile(
    r"\b(?P<kind>recovery|resync|reshape|check|repair) ?= *"
    r"(?:(?P<percent>\d{1,3}(?:\.\d+)?)%|DELAYED|PENDING)"
)


class Array(msgspec.Struct, frozen=True, kw_only=True):
    """One array; `state` is active, inactive or broken, `missing` counts its absent members.

    `work` is what runs on it (recovery, resync, reshape, check, repair) and `work_percent` how far.
    """

    name: str
    state: str
    level: str | None = None
    members: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    wanted: int | None = None
    missing: int = 0
    container: bool = False
    work: str | None = None
    work_percent: float | None = None
    text: str = ""


class RaidArrays(Observation, frozen=True, kw_only=True):
    """All md arrays of the node, none where the kernel has no md."""

    arrays: tuple[Array, ...]


async def collect(node: Node, wanted: Wanted) -> RaidArrays | Missing:
    """Read /proc/mdstat; a kernel without md has none."""
    del wanted
    seen = await node.files(PATH)
    if isinstance(seen, Missing):
        return seen
    if PATH in seen.errors:
        detail = f"{PATH}: {seen.errors[PATH]}"
        return Missing(what="RaidArrays", cause=Cause.DENIED, detail=detail)
    return RaidArrays(arrays=tuple(parse(seen.get(PATH) or "")))


def parse(text: str) -> Iterator[Array]:
    """Yield the arrays of mdstat: a head at the line's start, what belongs to it indented below."""
    for block in re.split(r"\n(?=\S)", text):
        head, _, body = block.partition("\n")
        if hit := HEAD.fullmatch(head):
            yield _array(hit, body)


def _array(head: re.Match[str], body: str) -> Array:
    members = [m for word in head["members"].split() if (m := MEMBER.fullmatch(word))]
    up, work = UP.search(body), WORK.search(body)
    return Array(
        name=head["name"],
        state=head["state"],
        level=head["level"],
        members=tuple(m["name"] for m in members),
        failed=tuple(m["name"] for m in members if "(F)" in m["flags"]),
        wanted=int(up["want"]) if up else None,
        missing=up["map"].count("_") if up else 0,
        container=CONTAINER.search(body) is not None,
        work=work["kind"] if work else None,
        work_percent=float(work["percent"]) if work and work["percent"] else None,
        text=f"{head[0].strip()}; {body.partition(chr(10))[0].strip()}"[:300],
    )
