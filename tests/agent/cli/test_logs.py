"""`gpudiag logs FILE...`: what it prints and how it ends."""

import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, run
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agent.cli.errors import Mistake
from agent.cli.log_files import diagnose
from agent.knowledge import knowledge
from diagnostics.catalog import TRAINING
from diagnostics.checks.training.of_text import OF_TEXT

FINE = "".join(
    f" iteration {n}/ 900 | elapsed time per iteration (ms): 310.{n % 7} | lm loss: 7.{900 - n} |\n"
    for n in range(1, 60)
)
OOM = "[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 6 has\n"
SLOW = FINE + "".join(
    f" iteration {n}/ 900 | elapsed time per iteration (ms): 610.0 | lm loss: 6.1 |\n"
    for n in range(60, 71)
)
LOGS = [sys.executable, "-I", "-m", "agent", "logs"]


def logs(*arguments: str, data: bytes = b"") -> CompletedProcess[bytes]:
    """Run the command."""
    return run([*LOGS, *arguments], input=data, capture_output=True, check=False, timeout=60)


def document(*arguments: str, data: bytes = b"") -> tuple[int, dict[str, Any]]:
    """Run the command with --json and return its exit status and its document."""
    ran = logs(*arguments, "--json", data=data)
    return ran.returncode, json.loads(ran.stdout)


def write(folder: Path, **texts: str) -> list[str]:
    """Write logs and return their paths."""
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    return [str(folder / f"{name}.log") for name in texts]


@pytest.mark.parametrize(
    ("text", "status", "faults"),
    [
        (FINE, 0, []),
        ("", 0, []),
        ("\0\1\2\n\xff" * 500, 0, []),
        (SLOW, 1, ["slow_step"]),
        (FINE + OOM, 2, ["cuda_oom"]),
        (
            FINE + " iteration 60/ 900 | elapsed time per iteration (ms): 3.0 | lm loss: NAN |\n",
            2,
            ["nan_loss"],
        ),
    ],
    ids=["fine", "empty", "junk", "slow", "oom", "nan"],
)
def test_verdict(text: str, status: int, faults: list[str], tmp_path: Path) -> None:
    """Well is 0, a warning 1, a fault 2, and each fault of a file is said once."""
    (file,) = write(tmp_path, train=text)
    ended, said = document(file)

    assert (status, faults) == (ended, [finding["fault"] for finding in said["findings"]])


def test_document(tmp_path: Path) -> None:
    """Text alone knows neither node nor time; all four stages are listed."""
    (file,) = write(tmp_path, train=FINE)
    _, said = document(file)
    stages = [(stage["name"], stage["verdict"]) for stage in said["stages"]]

    assert [None] * 4 == [said[key] for key in ("node", "boot_id", "started", "seconds")]
    assert [
        ("processes", "not_applicable"),
        ("driver", "not_applicable"),
        ("network", "not_applicable"),
        ("training", "ok"),
    ] == stages


def test_twice_is_the_same(tmp_path: Path) -> None:
    """The same text gives the same bytes, whatever the hash seed."""
    files = write(tmp_path, a=SLOW + OOM, b=FINE)
    first, second = (
        run(
            [sys.executable, "-m", "agent", "logs", *files, "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=False,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    )

    assert first == second


def test_evidence_names_file_and_line(tmp_path: Path) -> None:
    """A finding quotes its line by the number that an editor shows."""
    (file,) = write(tmp_path, train="start\r\n\r\n" + OOM.replace("\n", "\r\n"))
    _, said = document(file)
    (evidence,) = said["findings"][0]["evidence"]

    assert (file, 3, OOM.strip()) == (evidence["source"], evidence["line"], evidence["text"])


def test_the_error_of_a_rank_leads(tmp_path: Path) -> None:
    """Ranks that wait for one without memory time out: its error is the root, theirs follow."""
    waited = (
        "[rank0]:[E1130 02:21:09.3 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, Timeout(ms)=600000) ran for "
        "600068 milliseconds before timing out.\n"
    )
    (file,) = write(tmp_path, train=OOM + waited)
    _, said = document(file)
    faults = {finding["id"]: finding["fault"] for finding in said["findings"]}
    (incident,) = said["incidents"]

    assert ("cuda_oom", ["nccl_collective_timeout"]) == (
        faults[incident["root"]],
        [faults[name] for name in incident["consequences"]],
    )


def test_packed_and_piped(tmp_path: Path) -> None:
    """A packed file and standard input are read like any other."""
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(OOM.encode()))
    _, file = document(str(packed))
    _, stdin = document("-", data=OOM.encode())

    expected = [(str(packed), "cuda_oom"), ("stdin", "cuda_oom")]
    assert expected == [
        (said["findings"][0]["evidence"][0]["source"], said["findings"][0]["fault"])
        for said in (file, stdin)
    ]


def test_one_of_two_cannot_be_read(tmp_path: Path) -> None:
    """The other is judged; the verdict is unknown, and the line names the file."""
    (file,) = write(tmp_path, train=FINE)
    absent = str(tmp_path / "none.log")
    ran = logs(file, absent, "--json")

    assert (3, f"error: cannot read {absent}: no such file") == (
        ran.returncode,
        ran.stderr.decode().splitlines()[0],
    )


def test_a_fault_outweighs_what_cannot_be_read(tmp_path: Path) -> None:
    """A fault that was seen is a fault, whatever the other file holds."""
    (file,) = write(tmp_path, train=OOM)

    assert logs(file, str(tmp_path / "none.log")).returncode == 2


def test_a_cut_file_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    """Half of a packed log without symptoms is unknown, not well."""
    packed = gzip.compress(FINE.encode() * 50)
    file = tmp_path / "train.log.gz"
    file.write_bytes(packed[: len(packed) // 2])
    ran = logs(str(file))

    assert (3, True) == (ran.returncode, b"cut short or damaged" in ran.stderr)


def test_none_can_be_read(tmp_path: Path) -> None:
    """Two lines for each file, nothing on standard output, exit status 64."""
    ran = logs(str(tmp_path / "none.log"), str(tmp_path))
    expected = [
        f"error: cannot read {tmp_path}/none.log: no such file",
        " help: give the log's path",
        f"error: cannot read {tmp_path}: it is a folder",
        f" help: name its files: {tmp_path}/*.log",
    ]

    assert (64, b"", expected) == (ran.returncode, ran.stdout, ran.stderr.decode().splitlines())


@pytest.fixture
def nobody() -> Iterator[None]:
    """Give up root for the test's length; what it imports must be imported before."""
    knowledge()
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.root
def test_a_file_of_another_user(request: pytest.FixtureRequest) -> None:
    """The line says whose the file is, its mode, and what opens it."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (file,) = write(Path(folder), train=OOM)
        Path(file).chmod(0o600)
        request.getfixturevalue("nobody")
        with pytest.raises(Mistake) as raised:
            diagnose([file])
        os.seteuid(0)
    expected = (
        f"cannot read {file}: permission denied (owner root, mode 0600)",
        f"run it as root, or let the group read the file: chmod g+r {file}",
    )

    assert expected == (raised.value.what, raised.value.hint)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A file name with bytes that are no UTF-8 is read, and shown in the document."""
    file = os.fsencode(tmp_path / "train-") + b"\xff.log"
    Path(os.fsdecode(file)).write_text(OOM)
    _, said = document(os.fsdecode(file))

    assert f"{tmp_path}/train-\\xff.log" == said["findings"][0]["evidence"][0]["source"]


def test_standard_input_is_closed() -> None:
    """Without a standard input, reading it is a mistake of the caller, said in one line."""
    ran = run(["/bin/sh", "-c", f"{' '.join(LOGS)} - <&-"], capture_output=True, check=False)

    assert (64, b"error: cannot read stdin: bad file descriptor") == (
        ran.returncode,
        ran.stderr.splitlines()[0],
    )


def test_usage() -> None:
    """Without a file there is nothing to read: wrong usage, said in one line."""
    ran = logs()

    assert (64, b"error: missing argument") == (ran.returncode, ran.stderr[:23])


def endless(megabytes: int) -> Iterator[bytes]:
    """Yield one line without end."""
    for _ in range(megabytes):
        yield b"x" * (1 << 20)


def test_a_line_without_end_takes_no_memory() -> None:
    """200 MiB without a line end through a pipe need no more memory than a short log."""
    with Popen([*LOGS, "-", "--json"], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for block in endless(200):
            process.stdin.write(block)
        peak = memory(process.pid)
        process.stdin.close()
        said = json.loads(process.stdout.read())

    assert ("ok", True) == (said["verdict"], peak < 80)


def memory(pid: int) -> float:
    """Return the peak resident memory of a process so far, MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def test_checks_are_those_of_the_catalogue() -> None:
    """`logs` judges with the first training checks of the walk, in their order."""
    assert TRAINING[: len(OF_TEXT)] == OF_TEXT
