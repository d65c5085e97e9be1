"""Logs without end: a million equal lines, and one line of two gigabytes."""

import os
import sys
from collections.abc import Iterable, Iterator
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import msgspec
import pytest

LOGS = [sys.executable, "-I", "-m", "agent", "logs", "-", "--json"]
CHUNK = 20_000


def measured(blocks: Iterable[bytes]) -> tuple[dict[str, Any], float, float]:
    """Return the document of what is piped in, its processor seconds, and its peak in MiB."""
    with Popen(LOGS, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for block in blocks:
            child.stdin.write(block)
        child.stdin.close()
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    document: dict[str, Any] = msgspec.json.decode(said)
    return document, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def xids(count: int) -> Iterator[bytes]:
    """Yield lines of one Xid, each at its own time and of its own process."""
    form = (
        b"[%5d.%06d] NVRM: Xid (PCI:0000:4e:00): 31, pid=%d, name=python3, Ch %08x, intr 00000000."
        b" MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_a4000000.\n"
    )
    for start in range(0, count, CHUNK):
        numbers = range(start, start + CHUNK)
        yield b"".join(form % (n // 100, n, 40_000 + n % 700, n % 9) for n in numbers)


@pytest.mark.serial
def test_a_million_xids_are_one_finding() -> None:
    """One finding with the count, within 10 s of the processor and 20 MiB more than for few."""
    few, _, little = measured(xids(CHUNK))
    said, seconds, peak = measured(xids(1_000_000))
    found = [(f["fault"], f["count"]) for f in said["findings"]]

    assert ([("xid_31", 1_000_000)], [("xid_31", CHUNK)]) == (
        found,
        [(f["fault"], f["count"]) for f in few["findings"]],
    )
    assert (True, True) == (seconds < 10, peak - little < 20), (seconds, peak - little)


@pytest.mark.serial
def test_a_line_without_end_takes_no_room() -> None:
    """Two gigabytes without a line end are read to their end, and the next line is the second."""
    block = b"x" * (1 << 20)
    oom = b"\nRuntimeError: CUDA error: out of memory\n"
    few, _, little = measured([block, oom])
    said, _, peak = measured([*[block] * 2_000, oom])

    assert [2, 2] == [d["findings"][0]["evidence"][0]["line"] for d in (few, said)]
    assert peak - little < 20
