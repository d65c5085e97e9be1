"""Real processes that hold a GPU's device node: of any user, in namespaces and groups of their own.

The node is one of the memory driver's, in a /dev of the process's own: nobody else sees it.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen

from remediations.actor.processes import look

GROUPS = Path("/sys/fs/cgroup/freezer")
ENDS = "exec sleep 600"
# One that does not heed TERM: what a shell ignores, its program does.
STAYS = "trap '' TERM; exec sleep 600"
SETS_UP = """
mount -t tmpfs dev /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/nvidia{minor} c 1 3
[ -z "{group}" ] || echo $$ >{group}/cgroup.procs
exec 7</dev/nvidia{minor} setpriv --reuid {uid} --regid {uid} --clear-groups sh -c "{then}"
"""


@contextmanager
def holding(
    uid: int = 20_001, group: str = "", then: str = ENDS, minor: int = 0, *, own_pids: bool = False
) -> Iterator[int]:
    """Yield the pid, as this namespace sees it; with *own_pids* it is 1 for itself."""
    folder = GROUPS / group if group else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    script = SETS_UP.format(minor=minor, group=folder or "", uid=uid, then=then)
    words = ["unshare", "--mount", *(["--pid", "--fork", "--kill-child"] if own_pids else [])]
    process = Popen([*words, "sh", "-c", script])
    pid = process.pid
    try:
        pid = _pid(process.pid, uid, own_pids=own_pids)
        yield pid
    finally:
        # Who changes its user does not die with its parent any more.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
        if folder is not None:
            _remove(folder)


def _pid(first: int, uid: int, *, own_pids: bool) -> int:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError, ValueError, IndexError):
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
            pid = int(children[0]) if own_pids else first
            there = look(pid)
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            if there.devices and there.uids == {uid} and name == "sleep":
                return pid
        time.sleep(0.01)
    raise TimeoutError("the process that holds a GPU did not start")


def _remove(folder: Path) -> None:
    """Remove the groups that are empty by now, the innermost first."""
    end = time.monotonic() + 10
    while folder != GROUPS and time.monotonic() < end:
        try:
            folder.rmdir()
            folder = folder.parent
        except FileNotFoundError:
            folder = folder.parent
        except OSError:
            time.sleep(0.01)
