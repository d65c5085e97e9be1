"""Whether this Lustre client holds its connections."""

from collections.abc import Iterator

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.host.lustre import Import, LustreImports
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# IDLE: not used for a while, so that the client let the connection go; NEW: not used yet.
WELL = frozenset({"FULL", "IDLE", "NEW"})


@check(
    "storage.lustre",
    stage="processes",
    faults=("storage_hang", "storage_io_error"),
    proved="documented",
)
def lustre(seen: LustreImports) -> Iterator[Statement]:
    """Each connection of this Lustre client is up.

    While one is down, every program that touches a file on that target waits; after an eviction its
    open files are gone for good. The client's own state says which target it is, without asking it.
    """
    if not seen.imports:
        if seen.mounted:
            detail = "the client's imports are in debugfs, which root alone reads"
            yield Unseen(missing=Missing(what="LustreImports", cause=Cause.DENIED, detail=detail))
        else:
            yield NotApplicable(why="no Lustre file system is mounted")
        return
    ill = [one for one in seen.imports if not WELL & {one.state, one.state_before}]
    for one in ill:
        yield _told(one, seen.seconds)
    if not ill:
        yield Well(f"Lustre connections: {len(seen.imports)}, all of them up")


def _told(one: Import, seconds: float) -> Finding:
    evicted = "EVICTED" in (one.state, one.state_before)
    template = "the Lustre target {target} ({server}) has evicted this node: files open there fail"
    if not evicted:
        template = "the connection to the Lustre target {target} ({server}) is down: {state}"
    return found(
        "storage_io_error" if evicted else "storage_hang",
        "critical" if evicted else "warning",
        Subject(kind="mount", name=one.target),
        template,
        Evidence(
            source=one.path,
            text=f"state: {one.state}",
            values={"state": one.state, "state_before": one.state_before, "seconds": seconds},
        ),
        variant="evicted" if evicted else "lustre",
        target=one.target,
        server=one.server or "its server is not named",
        state=one.state,
    )
