"""The spool on real disks: killed at random, full, read-only; what is private stays so."""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen, run

import pytest

from agent.outbox.folder import Disk
from agent.outbox.store import Limits, Store
from tests.agent.outbox.made import KILLED, SMALL, Seconds, numbers, opened, report

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))


def written(folder: Path, first: int, seconds: float) -> tuple[set[int], int, int]:
    """Run the writer and kill it.

    Return the names that were on disk, and up to which they may be, and surely are, acknowledged.
    """
    argv = [sys.executable, "-m", "tests.agent.outbox.writing", str(folder), str(first)]
    with Popen(argv, cwd=ROOT, stdout=PIPE, text=True) as writer:
        assert writer.stdout is not None
        begun = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        lines = (begun + writer.stdout.read()).splitlines(keepends=True)
    said: dict[str, set[int]] = {"p": set(), "b": {0}, "a": {0}}
    for line in lines:
        if line.endswith("\n"):
            letter, number = line.split()
            said[letter].add(int(number))
    return said["p"], max(said["b"]), max(said["a"])


def held(folder: Path) -> list[int]:
    """Return the names of what the spool holds, in the order in which it would be sent."""
    store = Store(Disk(folder), limits=KILLED, monotonic=Seconds())
    store.open(0)
    rows, _ = store.batch(1_000_000, 1 << 40)
    return [int(json.loads(body)["versions"]["name"]) for _, body in rows]


@pytest.mark.timeout(60 + 10 * KILLS)
def test_kill_9_at_random_points_loses_nothing(tmp_path: Path) -> None:
    """Killed again and again: what was safe and not acknowledged is there, once, in order."""
    chance = random.Random(4)  # noqa: S311 - repeatable
    pending: set[int] = set()
    first = 1
    wrong = []
    for _ in range(KILLS):
        safe, maybe, surely = written(tmp_path, first, chance.uniform(0.0, 0.5))
        found = held(tmp_path)
        lost = {n for n in safe | pending if n > maybe} - set(found)
        back = {n for n in found if n <= surely}
        if lost or back or found != sorted(set(found)):
            wrong.append((lost, back, found))
        pending = set(found)
        first = max(safe | pending, default=first) + 1
    assert ([], True) == (wrong, first > KILLS)


def test_only_the_owner_reads(tmp_path: Path) -> None:
    """The folder is 0700 and its files are 0600, whatever the umask is."""
    folder = tmp_path / "spool"
    before = os.umask(0)
    try:
        opened(Disk(folder)).append(report(sequence=1))
    finally:
        os.umask(before)
    modes = {f"{path.stat().st_mode & 0o777:o}" for path in folder.iterdir()}
    assert ("700", {"600"}) == (f"{folder.stat().st_mode & 0o777:o}", modes)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link that somebody put into the folder is neither read nor written through."""
    target = tmp_path / "target"
    target.write_text("mine")
    folder = tmp_path / "spool"
    folder.mkdir()
    (folder / "change-00000001.log").symlink_to(target)
    store = opened(Disk(folder))
    store.append(report(sequence=1))
    store.append(report(sequence=2))
    assert ("mine", [1, 2]) == (target.read_text(), numbers(store))


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 64 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=64k", "gpudiag-test", str(place)], check=True)
    yield place
    run(["umount", str(place)], check=True)


@pytest.mark.root
@pytest.mark.serial
def test_a_full_disk(tmpfs: Path) -> None:
    """On a disk that is full reports go to memory; when there is room again, to disk, in order."""
    (tmpfs / "others").write_bytes(bytes(48 << 10))
    clock = Seconds()
    store = Store(Disk(tmpfs / "spool"), limits=SMALL, monotonic=clock)
    store.open(0)
    kept = [store.append(report(sequence=n, filler=3000)) for n in range(1, 13)]
    problem = store.status().problem
    (tmpfs / "others").unlink()
    clock.now += 31
    late = store.append(report(sequence=13, filler=3000))
    again = opened(Disk(tmpfs / "spool"))
    assert (True, False, "No space left on device", True, list(range(1, 14)), 0) == (
        kept[0],
        kept[-1],
        problem,
        late,
        numbers(again),
        again.status().lost,
    )


@pytest.mark.root
@pytest.mark.serial
def test_a_read_only_disk(tmpfs: Path) -> None:
    """A disk that became read-only is read on; new reports are held in memory, then written."""
    clock = Seconds()
    store = Store(Disk(tmpfs / "spool"), limits=Limits(disk=32 << 10), monotonic=clock)
    store.open(0)
    store.append(report(sequence=1))
    run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    kept = store.append(report(sequence=2))
    seen = (numbers(store), store.status().problem)
    run(["mount", "-o", "remount,rw", str(tmpfs)], check=True)
    clock.now += 31
    store.append(report(sequence=3))
    expected = (False, ([1, 2], "Read-only file system"), [1, 2, 3])
    assert expected == (kept, seen, numbers(opened(Disk(tmpfs / "spool"))))


def test_what_a_daemon_imports_for_it() -> None:
    """The spool and the reports need no HTTP library; the sender alone brings it."""
    code = (
        "import sys; import agent.outbox.spool, agent.outbox.reports;"
        "print([name for name in ('aiohttp', 'h11', 'pydantic', 'rich') if name in sys.modules])"
    )
    ran = run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "[]\n" == ran.stdout
