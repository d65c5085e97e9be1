"""What BeeGFS and Ceph clients know of their servers, without asking one."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

BEEGFS = "/proc/fs/beegfs/*/*_target_state"
# A folder for each mount, named by cluster and client; root alone reads debugfs.
CEPH_SESSIONS = "/sys/kernel/debug/ceph/*/mds_sessions"
CEPH_STATUS = "/sys/kernel/debug/ceph/*/status"
MOUNTS = "/proc/self/mounts"
MOST = 1_000

# [Target ID: 301] @ beegfs-storage storage03 [ID: 3]: Probably-offline / Good
TARGET = re.compile(
    r"\[Target ID: (?P<target>\d{1,10})\] @ (?P<server>.{1,120}): "
    r"(?P<reach>[A-Za-z-]{1,30}) / (?P<state>[A-Za-z-]{1,30}) ?"
)
# mds.0 open
SESSION = re.compile(r"mds\.(?P<rank>\d{1,6}) (?P<state>[a-z]{1,20})")
# instance: client.411 (3)10.20.0.17:0/284411, and on a line of its own: blocklisted: false
BLOCKED = re.compile(r"^blocklisted: (?P<said>true|false)$", re.MULTILINE)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A BeeGFS target as the management service tells its clients: reachable, consistent."""

    target: int
    server: str
    reach: str
    state: str
    path: str


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A Ceph mount's session with one metadata server, at both samples."""

    rank: int
    state: str
    state_before: str
    path: str


class StorageClients(Observation, frozen=True, kw_only=True):
    """Targets and sessions; `mounted` are those of the two whose file systems are mounted.

    `blocked` are the status files of Ceph mounts that the cluster has shut out.
    """

    mounted: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    sessions: tuple[Session, ...] = ()
    blocked: tuple[str, ...] = ()
    seconds: float = 0.0


async def collect(node: Node, wanted: Wanted) -> StorageClients | Missing:
    """Read once, and Ceph's sessions again `sample_s` later: one reconnects within that time."""
    first = await node.files(BEEGFS, CEPH_SESSIONS, CEPH_STATUS, MOUNTS)
    if isinstance(first, Missing):
        return first
    seen = StorageClients(
        mounted=mounted(first.get(MOUNTS) or ""),
        targets=tuple(_targets(first.texts)),
        blocked=tuple(sorted(path for path, text in first.texts.items() if _blocked(path, text))),
    )
    before = _sessions(first.texts)
    if not before:
        return seen
    began = node.monotonic()
    await node.sleep(wanted.sample_s)
    again = await node.files(CEPH_SESSIONS)
    if isinstance(again, Missing):
        return again
    return msgspec.structs.replace(
        seen,
        sessions=tuple(_joined(before, _sessions(again.texts))),
        seconds=round(node.monotonic() - began, 3),
    )


def mounted(table: str) -> tuple[str, ...]:
    """Return which of the two the mount table holds, BeeGFS first."""
    kinds = {kind for line in table.split("\n") for kind in line.split(" ")[2:3]}
    return tuple(kind for kind in ("beegfs", "ceph") if kind in kinds)


def targets(path: str, text: str) -> Iterator[Target]:
    """Yield the targets of one file; what has not the form is left out."""
    for line in text.split("\n")[:MOST]:
        if hit := TARGET.fullmatch(line):
            yield Target(
                target=int(hit["target"]),
                server=hit["server"],
                reach=hit["reach"],
                state=hit["state"],
                path=path,
            )


def sessions(text: str) -> dict[int, str]:
    """Return the states by the rank of the metadata server."""
    hits = (SESSION.fullmatch(line) for line in text.split("\n")[:MOST])
    return {int(hit["rank"]): hit["state"] for hit in hits if hit}


def _targets(texts: Mapping[str, str]) -> Iterator[Target]:
    for path in sorted(path for path in texts if path.endswith("_target_state")):
        yield from targets(path, texts[path])


def _blocked(path: str, text: str) -> bool:
    hit = BLOCKED.search(text) if path.endswith("/status") else None
    return hit is not None and hit["said"] == "true"


def _sessions(texts: Mapping[str, str]) -> dict[tuple[str, int], str]:
    return {
        (path, rank): state
        for path in sorted(path for path in texts if path.endswith("/mds_sessions"))
        for rank, state in sessions(texts[path]).items()
    }


def _joined(
    before: Mapping[tuple[str, int], str], after: Mapping[tuple[str, int], str]
) -> Iterator[Session]:
    for (path, rank), state in after.items():
        if (path, rank) in before:
            yield Session(rank=rank, state=state, state_before=before[path, rank], path=path)
