"""`gpudiag record`: a walk on this machine is written down, and its replay finds the same."""

import asyncio
import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any

import pytest

from agent.cli.record import matching
from agent.cli.run import diagnose
from agent.settings.load import Settings
from agent.walk.walk import Selection
from collectors.node.live import Live
from collectors.node.protocol import Node
from collectors.node.recorded import Recorded
from collectors.node.recorder import Recorder
from diagnostics.knowledge import pages
from tests.collectors.node.keeping import everything, keep

NAN = "iteration 120/ 500 | lm loss: NAN | grad norm: nan |"


def gpudiag(*arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run the command as it is installed."""
    argv = [sys.executable, "-I", "-m", "agent", *arguments]
    if "PYTHONHASHSEED" in environment:
        argv.remove("-I")  # which would ignore the seed
    env = {**os.environ, **environment}
    return run(argv, capture_output=True, text=True, check=False, timeout=100, env=env)


def walked(node: Node) -> dict[str, Any]:
    """Walk a node and return its document; that it is a replay is the one thing left out."""
    pages.load()
    document = asyncio.run(diagnose(node, Settings(), Selection(), (), strict=False))
    table: dict[str, Any] = json.loads(document.encode())
    del table["recorded"]
    return table


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record this machine once."""
    folder = tmp_path_factory.mktemp("record") / "node"
    ran = gpudiag("record", str(folder))
    assert (ran.returncode, ran.stderr) == (0, "")
    return folder


def test_the_replay_finds_what_the_walk_found(tmp_path: Path) -> None:
    """On this very machine: the whole document is the same, times and seconds with it."""
    recorder = Recorder(Live())
    live = walked(recorder)
    name, boot = live["node"], live["boot_id"]
    folder = keep(recorder, tmp_path / "kept", node=name)
    meta = folder / "meta.toml"
    meta.write_text(meta.read_text().replace("5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11", boot))
    assert walked(Recorded(folder)) == live


def test_a_scrubbed_recording_finds_the_same_faults(recording: Path) -> None:
    """Checks say of stand-ins what they said of the true names: no check is blind or crashes."""
    ran = gpudiag("run", "--replay", str(recording), "--json")
    document = json.loads(ran.stdout)
    blind = [f["message"] for f in document["findings"] if "crashed" in f["message"]]
    assert (document["recorded"], document["node"], blind) == (True, "node-1", [])


def test_two_replays_are_the_same_bytes(recording: Path) -> None:
    """Neither the seed of hashes nor the turn of tasks shows."""
    arguments = ("run", "--replay", str(recording), "--json")
    seeds = ("0", "1", "4242")
    documents = {gpudiag(*arguments, PYTHONHASHSEED=seed).stdout for seed in (*seeds, *seeds)}
    assert (len(documents), len(next(iter(documents))) > 100) == (1, True)


def test_the_summary(recording: Path, tmp_path: Path) -> None:
    """It says where the recording is, how large, what was replaced, and how to replay it."""
    folder = tmp_path / "again"
    said = gpudiag("record", str(folder)).stdout.splitlines()
    assert [line.partition(":")[0] for line in said] == [
        f"recorded this node in {folder}",
        "replaced",
        "left out",
        "look at it first, then replay it anywhere",
    ]
    assert (recording / "meta.toml").read_text().count("scrubbed = true") == 1


def test_this_machine_is_not_named(recording: Path) -> None:
    """Its boot id and hardware addresses are in no file of the recording."""
    written = everything(recording)
    secrets = [Path("/proc/sys/kernel/random/boot_id").read_text().strip()]
    addresses = (p.read_text().strip() for p in Path("/sys/class/net").glob("*/address"))
    secrets += [a for a in addresses if a.replace(":", "").strip("0")]
    assert [secret for secret in secrets if secret in written] == []


def test_raw_says_so(tmp_path: Path) -> None:
    """--raw keeps everything, tells on the terminal and in meta.toml, and is for its owner only."""
    folder = tmp_path / "raw"
    said = gpudiag("record", str(folder), "--raw").stdout
    meta = (folder / "meta.toml").read_text()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    mode = folder.stat().st_mode & 0o777
    assert ("NOT scrubbed" in said, "scrubbed = false" in meta, boot in meta, mode) == (
        True,
        True,
        True,
        0o700,
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write a training log: a private line, and one that a rule matches."""
    lines = [f"step {n} private-{n}" for n in range(50)]
    lines[20] = NAN
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_matched_lines_keep_their_numbers(log: Path) -> None:
    """Of a log the matched line stays, with three on each side; the others are empty lines."""
    kept = matching(log.read_text()).split("\n")
    full = [number for number, line in enumerate(kept) if line]
    assert (full, kept[20], len(kept)) == (list(range(17, 24)), NAN, 51)


@pytest.mark.parametrize(("options", "kept"), [((), None), (("--with-logs",), 7), (("--raw",), 50)])
def test_logs_only_when_asked(
    log: Path, tmp_path: Path, options: tuple[str, ...], kept: int | None
) -> None:
    """A log is in no recording by default, in part with --with-logs, whole with --raw."""
    folder = tmp_path / "kept"
    ran = gpudiag("record", str(folder), "--log", str(log), *options)
    assert ran.returncode == 0, ran.stderr
    path = folder / "logs/train.log"
    lines = sum(map(bool, path.read_text().splitlines())) if path.exists() else None
    assert (lines, "--with-logs keeps" in ran.stdout) == (kept, kept is None)


def test_a_kept_log_is_judged_in_the_replay(log: Path, tmp_path: Path) -> None:
    """The finding names the log and the line in which the loss became NaN."""
    folder = tmp_path / "kept"
    gpudiag("record", str(folder), "--log", str(log), "--with-logs")
    ran = gpudiag("run", "--replay", str(folder), "--stage", "training", "--json")
    found = json.loads(ran.stdout)["findings"]
    evidence = [(f["fault"], e["source"], e.get("line")) for f in found for e in f["evidence"]]
    assert ("nan_loss", "train.log", 21) in evidence


def test_another_root(tmp_path: Path) -> None:
    """--root records the files below it, panics among them; this machine is not asked."""
    (tmp_path / "root/proc/1").mkdir(parents=True)
    (tmp_path / "root/proc/uptime").write_text("100.00 1.00\n")
    (tmp_path / "root/proc/1/stat").write_text("1 (init) S 0 1 1 0 -1 4194560 0 0 0 0\n")
    folder = tmp_path / "kept"
    ran = gpudiag("record", str(folder), "--root", str(tmp_path / "root"))
    parts = sorted(p.name for p in folder.iterdir())
    assert (ran.returncode, parts) == (0, ["answers", "files", "meta.toml"])


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("full", "error: {0} exists already\n help: name another folder\n"),
        (
            "none/kept",
            """error: cannot write {0}.partial: No such file or directory; nothing was kept
 help: make room, or name a folder that can be written
""",
        ),
    ],
)
def test_a_place_that_cannot_be(tmp_path: Path, place: str, error: str) -> None:
    """What cannot be written is said before the walk, in one line, with status 64."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    ran = gpudiag("record", str(tmp_path / place))
    assert (ran.returncode, ran.stderr, [p.name for p in tmp_path.iterdir()]) == (
        64,
        error.format(tmp_path / place),
        ["full"],
    )


def test_a_partial_folder_is_named(tmp_path: Path) -> None:
    """What a killed run left behind is not taken for ours, and not removed unasked."""
    (tmp_path / "kept.partial").mkdir()
    ran = gpudiag("record", str(tmp_path / "kept"))
    expected = (64, f"error: {tmp_path}/kept.partial exists already")
    assert (ran.returncode, ran.stderr.splitlines()[0]) == expected
