"""Mounts of this machine, made for the test: full, read-only, out of inodes, hung."""

import asyncio
import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child
from collectors.host import mounts
from collectors.host.mounts import Mounts
from collectors.node.live import Live
from diagnostics.checks.storage.mounts import mounts as storage_mounts

MNT_DETACH = 2
SLEEPER = "import time\nwhile True: time.sleep(60)\n"


def ran(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a real tool, wherever this machine has it."""
    path = shutil.which(tool, path=f"{os.defpath}:/usr/sbin:/sbin") or tool
    return subprocess.run((path, *words), check=True, capture_output=True, text=True)


@contextmanager
def mounted(point: Path, *words: str) -> Iterator[Path]:
    """Mount something at *point*, and take it away whatever happens."""
    point.mkdir()
    ran("mount", *words, str(point))
    try:
        yield point
    finally:
        ran("umount", "-l", str(point))


def image(tmp_path: Path, *words: str) -> str:
    """Make a small ext4 in a file."""
    path = tmp_path / "image"
    with path.open("wb") as handle:
        handle.truncate(16 << 20)
    ran("mkfs.ext4", "-q", "-F", *words, str(path))
    return str(path)


def collected() -> Mounts:
    """Collect from this machine."""

    async def collect() -> Mounts | Missing:
        node = Live()
        try:
            return await mounts.collect(node, Wanted())
        finally:
            await node.close()

    seen = asyncio.run(collect())
    assert isinstance(seen, Mounts)
    return seen


def said(point: Path) -> list[tuple[str, str]]:
    """Return what the check says of one mount of this machine."""
    findings = storage_mounts.run({Mounts: collected()}).findings
    return [(f.fault, f.severity) for f in findings if f.subject.name == str(point)]


def test_this_machine() -> None:
    """The root of this machine answers, with room and under its own name."""
    seen = collected()
    root = next(mount for mount in seen.mounts if mount.point == "/")
    assert root.room is not None

    assert 0 < root.room.free_bytes < root.room.size_bytes
    assert os.statvfs("/").f_blocks * os.statvfs("/").f_frsize == root.room.size_bytes


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("mkfs.ext4", "losetup")
def test_a_writable_file_system_is_well(tmp_path: Path) -> None:
    """A mount in order gives no finding: what the next tests find, they made."""
    with mounted(tmp_path / "m", "-o", "loop", image(tmp_path)) as point:
        assert [] == said(point)


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("mkfs.ext4", "losetup")
def test_out_of_bytes(tmp_path: Path) -> None:
    """A file system that is really full is found full."""
    with mounted(tmp_path / "m", "-o", "loop", image(tmp_path)) as point:
        with pytest.raises(OSError, match="No space left"), (point / "ballast").open("wb") as file:
            file.write(bytes(32 << 20))

        assert [("disk_full", "warning")] == said(point)


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("mkfs.ext4", "losetup")
def test_out_of_inodes(tmp_path: Path) -> None:
    """Room for bytes, none for files."""
    with mounted(tmp_path / "m", "-o", "loop", image(tmp_path, "-N", "16")) as point:
        names = map(str, range(64))
        with pytest.raises(OSError, match="No space left"):
            list(map(Path.touch, (point / name for name in names)))

        assert [("disk_full", "warning")] == said(point)


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("mkfs.ext4", "losetup")
def test_the_kernel_stops_the_writes(tmp_path: Path) -> None:
    """An error inside ext4 under errors=remount-ro: the mount says rw, and no write succeeds."""
    with mounted(tmp_path / "m", "-o", "loop,errors=remount-ro", image(tmp_path)) as point:
        table = mounts.parse(Path("/proc/self/mountinfo").read_text())
        source = next(mount.source for mount in table if mount.point == str(point))
        trigger = Path("/sys/fs/ext4") / Path(source).name / "trigger_fs_error"
        trigger.write_text("made by a test")
        with pytest.raises(OSError, match="Read-only file system"):
            (point / "file").touch()

        assert [("read_only_filesystem", "critical")] == said(point)


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("mkfs.ext4", "losetup")
def test_read_only_by_choice_is_no_fault(tmp_path: Path) -> None:
    """Remounted read-only by hand, and no table asks for more."""
    with mounted(tmp_path / "m", "-o", "loop", image(tmp_path)) as point:
        ran("mount", "-o", "remount,ro", str(point))
        seen = collected()
        mount = next(mount for mount in seen.mounts if mount.point == str(point))

        assert (False, True) == (mount.writable, "ro" in mount.state)
        assert [] == said(point)


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("unshare")
def test_shared_memory_is_full() -> None:
    """A container's /dev/shm of 1 MiB, filled; the command runs in there, as its first process."""
    script = (
        "mount -t tmpfs -o size=1m tmpfs /dev/shm; "
        "head -c 2m /dev/zero >/dev/shm/fill 2>/dev/null; "
        'exec "$0" -m agent run --check host.shm --json'
    )
    words = ("--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, sys.executable)
    with pytest.raises(subprocess.CalledProcessError) as ended:
        ran("unshare", *words)
    findings = json.loads(ended.value.stdout)["findings"]
    expected = [("shm_exhausted", "warning", "/dev/shm")]

    assert ended.value.returncode == 1
    assert expected == [(f["fault"], f["severity"], f["subject"]["name"]) for f in findings]


@pytest.mark.root
@pytest.mark.serial
def test_a_mount_that_hangs_and_then_dies(tmp_path: Path) -> None:
    """FUSE with a silent program: the call stands in the kernel; once it ends, ENOTCONN."""
    point = tmp_path / "m"
    point.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    done = libc.mount(b"hang", str(point).encode(), b"fuse.hang", 0, options)
    try:
        assert done == 0, os.strerror(ctypes.get_errno())
        assert [("storage_hang", "critical")] == said(point)
        seen = collected()
        stuck = next(m.missing for m in seen.mounts if m.point == str(point))
        assert stuck is not None
        assert "state D" in str(stuck.stuck)
        os.close(device)
        device = -1
        assert [("storage_io_error", "warning")] == said(point)
    finally:
        if device >= 0:
            os.close(device)
        libc.umount2(str(point).encode(), MNT_DETACH)


@pytest.mark.serial
async def test_a_helper_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice too late is a stall, with the place where the helper stands; others go on."""
    live = Live()
    start = partial(Child.start, (sys.executable, "-I", "-c", SLEEPER))
    live._helpers["mount:/data"] = Helper("mount:/data", start, where=live._where)
    monkeypatch.setattr(mounts, "DEADLINE_S", 0.5)
    monkeypatch.setattr(mounts, "SECOND_S", 0.5)
    mount = mounts.parse("40 27 0:52 / /data rw - nfs4 nas-1:/export rw")[0]
    try:
        got = await mounts._one(mount, live)
        rest = await live.ask("statfs", point="/")
    finally:
        await live.close()
    assert isinstance(got, Missing)

    assert got.cause is Cause.TIMEOUT
    assert "state S" in str(got.stuck)
    assert not isinstance(rest, Missing)
