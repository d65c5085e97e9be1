"""Whether BeeGFS and Ceph clients hold their servers."""

from collections.abc import Iterator

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.host.storage_clients import Session, StorageClients, Target
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# States of a Ceph session in which requests do not come back, if they last.
STUCK = frozenset({"hung", "opening", "restarting", "reconnecting"})
REFUSED = "rejected"


@check(
    "storage.clients",
    stage="processes",
    faults=("storage_hang", "storage_io_error"),
    proved="documented",
)
def clients(seen: StorageClients) -> Iterator[Statement]:
    """Each BeeGFS target is online, and each Ceph session of this node is open.

    While a target or metadata server is away, every program that touches a file there waits; a
    client that the cluster has shut out gets errors until it mounts again. Both are told by the
    client itself, so that no server is asked.
    """
    yield from _unseen(seen)
    ill = [one for target in seen.targets if (one := _target(target))]
    ill += [one for session in seen.sessions if (one := _session(session, seen.seconds))]
    ill += [_blocked(path) for path in seen.blocked]
    yield from ill
    if not seen.mounted:
        yield NotApplicable(why="no BeeGFS or Ceph file system is mounted")
    elif not ill and (seen.targets or seen.sessions):
        count = f"{len(seen.targets)}, open Ceph sessions: {len(seen.sessions)}"
        yield Well(f"BeeGFS targets online: {count}")


def _unseen(seen: StorageClients) -> Iterator[Unseen]:
    """Yield what is mounted and shows no state."""
    for kind, known, why in (
        ("beegfs", seen.targets, "the client shows no targets in /proc/fs/beegfs"),
        ("ceph", seen.sessions, "the client's sessions are in debugfs, which root alone reads"),
    ):
        if kind in seen.mounted and not known:
            yield Unseen(missing=Missing(what=f"{kind} client", cause=Cause.DENIED, detail=why))


def _target(one: Target) -> Finding | None:
    if one.reach == "Online" and one.state != "Bad":
        return None
    bad = one.reach == "Online"
    return found(
        "storage_io_error" if bad else "storage_hang",
        "info" if one.reach == "Probably-offline" else "warning",
        Subject(kind="mount", name=f"beegfs target {one.target}"),
        "the BeeGFS target {target} of {server} is {reach} and {state}",
        Evidence(
            source=one.path,
            text=f"[Target ID: {one.target}] @ {one.server}: {one.reach} / {one.state}",
            values={"target": one.target, "reach": one.reach, "state": one.state},
        ),
        variant="beegfs",
        target=one.target,
        server=one.server,
        reach=one.reach.lower(),
        state=one.state.lower(),
    )


def _session(one: Session, seconds: float) -> Finding | None:
    refused = REFUSED in (one.state, one.state_before)
    if not refused and not {one.state, one.state_before} <= STUCK:
        return None
    return found(
        "storage_io_error" if refused else "storage_hang",
        "critical" if refused else "warning",
        Subject(kind="mount", name=f"ceph mds.{one.rank}"),
        "the session with the Ceph metadata server {rank} is {state}",
        Evidence(
            source=one.path,
            text=f"mds.{one.rank} {one.state}",
            values={"state": one.state, "state_before": one.state_before, "seconds": seconds},
        ),
        variant="ceph",
        rank=one.rank,
        state=one.state,
    )


def _blocked(path: str) -> Finding:
    return found(
        "storage_io_error",
        "critical",
        Subject(kind="mount", name=path.split("/")[-2]),
        "the Ceph cluster has shut this client out ({client}): files there fail until a new mount",
        Evidence(source=path, text="blocklisted: true"),
        variant="blocklisted",
        client=path.split("/")[-2],
    )
