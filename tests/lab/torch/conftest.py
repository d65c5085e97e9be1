"""Start small jobs once for all tests: a hang has to last before it is one."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# Each is told apart by what its log is called.
MODES = ("well", "nan", "hang", "silent", "killed", "disagree")
# Interpreter that has torch, where it is not this one.
TORCH_PYTHON = "TORCH_PYTHON"

Walk = Callable[[], dict[str, Any]]


def torch_python() -> str | None:
    """Return an interpreter with torch, None where there is none."""
    if os.environ.get(TORCH_PYTHON):
        return os.environ[TORCH_PYTHON]
    return sys.executable if importlib.util.find_spec("torch") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs torch where it is not installed and not required."""
    if torch_python() is not None or os.environ.get("GPUDIAG_TOOLS") == "required":
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="torch is not installed: make torch"))


class Job:
    """One job: its launcher, its log, and how it ends."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode = mode
        self.log = folder / f"{mode}.log"
        # `silent` hangs like `hang`, and has no watchdog that writes dumps.
        dumps = {} if mode == "silent" else {"TORCH_FR_DUMP_TEMP_FILE": str(folder / f"{mode}_")}
        self.began = time.monotonic()
        self._process = start(
            2, str(HERE / "job.py"), "hang" if mode == "silent" else mode, log=self.log, more=dumps
        )

    @property
    def name(self) -> str:
        """Return what the job is called here: no scheduler knows it."""
        return f"pid {self._process.pid}"

    def state(self) -> str:
        """Return what may say why a test of it failed: the end of its log, and what ran when."""
        folder = f"/proc/{self._process.pid}/task/{self._process.pid}/children"
        pids = [self._process.pid, *Path(folder).read_text().split()]
        ran = [Path(f"/proc/{pid}/sched").read_text()[:400] for pid in pids]
        return "\n".join(
            [f"{time.monotonic() - self.began:.0f} s", self.log.read_text()[-2000:], *ran]
        )

    def end(self) -> None:
        """End it with all its ranks."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)


def start(
    world: int, *program: str, log: Path, more: Mapping[str, str] = {}
) -> subprocess.Popen[bytes]:
    """Start a launcher with so many ranks, whose output goes to *log*."""
    python = torch_python()
    assert python is not None
    argv = [python, str(HERE / "launch.py"), str(world), *program]
    with log.open("ab") as output:
        return subprocess.Popen(
            argv, env=os.environ | more, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Job]]:
    """Start a job of each kind, and end all of them after the last test that looks at them."""
    folder = tmp_path_factory.mktemp("torch")
    started = {mode: Job(mode, folder) for mode in MODES}
    try:
        yield started
    finally:
        for job in started.values():
            job.end()


@pytest.fixture
def walk() -> Walk:
    """Return the training stage of `gpudiag run`, as it is now."""

    def walked() -> dict[str, Any]:
        argv = [sys.executable, "-m", "agent", "run", "--stage", "training", "--json"]
        ran = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=60, check=False)
        assert ran.stdout, ran.stderr.decode()
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    return walked


def until(walk: Walk, holds: Callable[[dict[str, Any]], object], seconds: float) -> dict[str, Any]:
    """Walk again and again until it *holds*, or the time is over; return the last diagnosis."""
    ends = time.monotonic() + seconds
    while True:
        document = walk()
        if holds(document) or time.monotonic() > ends:
            return document
        time.sleep(2)
