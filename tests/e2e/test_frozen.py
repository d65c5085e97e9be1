"""A process that no signal ends: the walk names it, stays on schedule, and leaves cleanly."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("mkfs.ext4", "fsfreeze", "losetup"),
]

SETTINGS = '[checks."processes.blocked"]\nblocked_s = 1.0\n'


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Freeze a file system under a process that writes to it; thaw it whatever happens."""
    image, point = tmp_path / "image", tmp_path / "scratch"
    image.write_bytes(bytes(32 << 20))
    point.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, point], check=True)
    try:
        subprocess.run(["fsfreeze", "-f", point], check=True)
        writer = subprocess.Popen(["/bin/sh", "-c", f"exec echo x >{point}/file"])
        try:
            _wait_for_state(writer.pid, "D")
            yield point, writer
        finally:
            subprocess.run(["fsfreeze", "-u", point], check=True)
            writer.wait(timeout=10)
    finally:
        subprocess.run(["umount", point], check=True)


def _wait_for_state(pid: int, state: str) -> None:
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != state:
        assert time.monotonic() < deadline, f"{pid} never came to state {state}"
        time.sleep(0.05)


def test_a_blocked_process_is_named_and_the_walk_goes_on(
    frozen: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """The process in state D is a finding with its pid; every other check has its say in time."""
    _, writer = frozen
    settings = tmp_path / "gpudiag.toml"
    settings.write_text(SETTINGS)
    time.sleep(2)
    start = time.monotonic()

    done = subprocess.run(
        [sys.executable, "-I", "-m", "agent", "run", "--json", "--config", settings],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "GPUDIAG_DEBUG": "1"},
    )
    took = time.monotonic() - start
    document = json.loads(done.stdout)
    blocked = [
        (f["fault"], f["subject"]["pid"], f["evidence"][0]["source"])
        for f in document["findings"]
        if f["fault"] == "task_blocked_d_state" and f["subject"]["pid"] == writer.pid
    ]
    late = [
        c["check"]
        for stage in document["stages"]
        for c in stage["checks"]
        if c["verdict"] == "unknown"
    ]

    assert [("task_blocked_d_state", writer.pid, f"/proc/{writer.pid}/stat")] == blocked
    assert ([], True) == (late, took < 10)


def test_a_helper_in_state_d_is_left_behind_and_the_exit_is_clean(
    frozen: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """A helper that KILL does not end costs its answer and a count; leaving takes under 5 s."""
    point, _ = frozen
    child, program = tmp_path / "child.py", tmp_path / "program.py"
    child.write_text(f"import sys\nsys.stdin.readline()\nopen({str(point / 'other')!r}, 'w')\n")
    program.write_text(
        "import asyncio, sys, time\n"
        "from functools import partial\n"
        "from collectors.helpers.helper import Helper\n"
        "from collectors.helpers.link import Child\n"
        f"argv = (sys.executable, '-I', {str(child)!r})\n"
        "async def main():\n"
        "    one = Helper('mount', partial(Child.start, argv))\n"
        "    got = await one.ask('touch', deadline_s=1.0)\n"
        "    await asyncio.sleep(2.5)\n"
        "    start = time.monotonic()\n"
        "    left = one.stuck\n"
        "    await one.close()\n"
        "    print(got.cause.value, left, one.stuck, time.monotonic() - start < 5)\n"
        "asyncio.run(main())\n"
    )
    start = time.monotonic()

    done = subprocess.run(
        [sys.executable, "-I", program], capture_output=True, text=True, timeout=60, check=False
    )
    took = time.monotonic() - start

    assert ("timeout 1 1 True\n", 0, True) == (done.stdout, done.returncode, took < 9)
