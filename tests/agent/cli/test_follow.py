"""`gpudiag logs --follow`: a file that grows, is replaced, cut short or is a pipe."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any

import pytest

FOLLOW = [sys.executable, "-I", "-m", "agent", "logs", "--follow"]
STEPS = "".join(f"step {n} torch loss: 2.{n}\n" for n in range(10, 40))
OOM = (
    "[rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 6 has\n"
)
FAR = 50_000_000


@contextmanager
def followed(*args: str, stdin: Any = None) -> Iterator["Popen[str]"]:
    """Run the command; the test's own time limit ends what says nothing."""
    with Popen([*FOLLOW, *args], stdin=stdin, stdout=PIPE, stderr=PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def said(child: "Popen[str]") -> tuple[str, list[str]]:
    """Return verdict and faults of the next document."""
    assert child.stdout is not None
    document = json.loads(child.stdout.readline())
    return document["verdict"], [finding["fault"] for finding in document["findings"]]


def add(path: Path, text: str) -> None:
    """Append as a job does."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_each_change_is_one_document(tmp_path: Path) -> None:
    """Well, then a fault; more of the same is no news; Ctrl-C ends it with the verdict's status."""
    log = tmp_path / "train.log"
    log.write_text(STEPS, encoding="utf-8")
    with followed("--json", str(log)) as child:
        first = said(child)
        add(log, OOM.format(6))
        second = said(child)
        add(log, OOM.format(6) + "RuntimeError: CUDA error: device-side assert triggered\n")
        third = said(child)
        child.send_signal(signal.SIGINT)
        rest = child.communicate()

    nothing: list[str] = []
    expected = (nothing, ["cuda_oom"], ["cuda_device_assert", "cuda_oom"], ("", ""), 2)
    assert expected == (first[1], second[1], sorted(third[1]), rest, child.returncode)


@pytest.mark.parametrize("way", ["replaced", "cut"])
def test_a_log_that_is_rotated_is_read_on(tmp_path: Path, way: str) -> None:
    """Renamed and made anew, or copied and cut short: what comes next is seen."""
    log = tmp_path / "train.log"
    log.write_text(STEPS, encoding="utf-8")
    with followed("--json", str(log)) as child:
        said(child)
        if way == "replaced":
            log.rename(tmp_path / "train.log.1")
            add(log, OOM.format(1))
        else:
            os.truncate(log, 0)
            add(log, OOM.format(1))
        found = said(child)
        child.send_signal(signal.SIGINT)
        child.wait()

    assert ["cuda_oom"] == found[1]


def test_half_a_line_waits_for_its_rest(tmp_path: Path) -> None:
    """What is written in two parts is one line."""
    log = tmp_path / "train.log"
    log.write_text(STEPS, encoding="utf-8")
    line = OOM.format(3)
    with followed("--json", str(log)) as child:
        said(child)
        add(log, line[:30])
        add(log, line[30:])
        found = said(child)

    assert ["cuda_oom"] == found[1]


def test_a_pipe_ends_it() -> None:
    """Where nothing more can come, the last word is said, with a line that has no end."""
    with followed("--json", "-", stdin=PIPE) as child:
        out, _ = child.communicate(STEPS + OOM.format(2).rstrip())
    faults = [finding["fault"] for finding in json.loads(out.splitlines()[-1])["findings"]]

    assert (["cuda_oom"], 2) == (faults, child.returncode)


def test_what_cannot_be_followed_is_one_line(tmp_path: Path) -> None:
    """A packed file never grows by lines, and one that is not there is no file."""
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(b"\x1f\x8b" + bytes(40))
    told = [
        run([*FOLLOW, str(path)], capture_output=True, text=True, check=False)
        for path in (packed, tmp_path / "none.log")
    ]

    expected = [(64, f"cannot follow {packed}: it is packed"), (64, "no such file")]
    assert expected == [
        (one.returncode, word)
        for one, (_, word) in zip(told, expected, strict=True)
        if word in one.stderr
    ]


@pytest.mark.serial
def test_it_keeps_up_with_fifty_megabytes_a_second(tmp_path: Path) -> None:
    """What a log gains in three seconds at that pace takes less than three of one processor."""
    log = tmp_path / "train.log"
    log.write_text(STEPS, encoding="utf-8")
    words = "".join(f"saved optimizer state of layer {n} to /data/run-7\n" for n in range(30))
    block = (words * 90 + STEPS) * 7
    with followed("--json", str(log)) as child:
        said(child)
        for _ in range(3 * FAR // len(block)):
            add(log, block)
        add(log, OOM.format(5))
        found = said(child)
        child.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 2
    seconds = usage.ru_utime + usage.ru_stime

    assert (["cuda_oom"], True) == (found[1], seconds < 3), seconds
