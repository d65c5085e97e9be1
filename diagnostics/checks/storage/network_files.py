"""Where GPU processes write."""

from collections import defaultdict
from collections.abc import Iterator

from collectors.facts.subject import Subject
from collectors.host.mounts import Mount, Mounts
from collectors.host.open_files import OpenFile, OpenFiles
from diagnostics.check import check
from diagnostics.finding import Evidence, NotApplicable, Statement, Well, found

MOST_SHOWN = 3


@check(
    "storage.network_files",
    stage="processes",
    faults=("checkpoint_on_network_storage",),
    proved="recorded",
)
def network_files(seen: OpenFiles, table: Mounts) -> Iterator[Statement]:
    """GPU processes write to local disks.

    Writing to network storage is common and works; it is noted, for then a slow server stops the
    training itself, and a checkpoint of all ranks at once is what slows it.
    """
    if not seen.processes:
        yield NotApplicable(why="no process outside of containers holds a GPU")
        return
    written: dict[str, list[OpenFile]] = defaultdict(list)
    by_point = {mount.point: mount for mount in table.mounts}
    for file in seen.files:
        mount = on(file.path, table)
        if mount is not None and mount.network:
            written[mount.point].append(file)
    for point, files in sorted(written.items()):
        yield _noted(by_point[point], files)
    if not written:
        what = f"files that GPU processes write: {len(seen.files)}, all of them local"
        yield Well(what if seen.files else "no GPU process has a file open for writing")


def on(path: str, table: Mounts) -> Mount | None:
    """Return the mount on which *path* lies: the one whose point is its longest beginning."""
    points = [(point, mount) for mount in table.mounts for point in (mount.point, *mount.others)]
    inside = [(len(p), m) for p, m in points if path == p or path.startswith(p.rstrip("/") + "/")]
    return max(inside, key=lambda pair: pair[0], default=(0, None))[1]


def _noted(mount: Mount, files: list[OpenFile]) -> Statement:
    writers = {file.pid: file.comm for file in files}
    return found(
        "checkpoint_on_network_storage",
        "info",
        Subject(kind="mount", name=mount.point),
        "GPU processes write to {point} ({fstype}, {source}): {processes} of them, files: {files}",
        Evidence(
            source=f"/proc/{files[0].pid}/fd",
            text=", ".join(file.path for file in files[:MOST_SHOWN]),
            values={"pids": sorted(writers)},
        ),
        processes=len(writers),
        files=len(files),
        point=mount.point,
        fstype=mount.fstype,
        source=mount.source,
    )
