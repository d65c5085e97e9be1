"""Whole systemds over this machine's own files: those that are asked for are booted at once."""

import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess, run

HERE = Path(__file__).parent
# By its module of tests: what it runs, and the unit that comes up by itself.
BOXES = {
    "test_agent_box": ("probe.sh", "gpudiag-agent.service"),
    "test_actor_box": ("probe_actor.sh", "gpudiag-agent.service"),
    "test_aggregator_box": ("probe_aggregator.sh", "gpudiag-aggregator.service"),
}


Booted = tuple[Path, CompletedProcess[str]]


def booted(names: Collection[str], folder: Path) -> Mapping[str, Booted]:
    """Boot these boxes beside one another; return where what was seen in them is, and its end."""
    with ThreadPoolExecutor(len(BOXES)) as pool:
        ended = pool.map(lambda name: _boot(name, folder / name), names)
        return dict(zip(names, ended, strict=True))


def _boot(name: str, folder: Path) -> Booted:
    probe, unit = BOXES[name]
    share = folder / "share"
    share.mkdir(parents=True)
    (folder / "probe").write_text((HERE / probe).read_text())
    (share / "asking.py").write_text((HERE / "asking.py").read_text())
    argv: list[str | Path] = ["sh", HERE / "box.sh", folder, sys.executable, HERE.parents[1], unit]
    done = run(
        ["unshare", "--mount", "--propagation", "private", *argv],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return share, done


def shown(path: Path) -> dict[str, str]:
    """Return what `systemctl show` told."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines())
