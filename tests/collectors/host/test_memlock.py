"""How much a rank may lock: the limit of its process, and who is bound by none."""

import asyncio
import resource
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.host.holders import GpuHolders, Holder
from collectors.host.memlock import LockLimit, LockLimits, collect, limit
from collectors.node.live import Live
from tests.recording import recorded

LIMITS = "Limit                     Soft Limit           Hard Limit           Units\n"
LIMITS += "Max locked memory         8388608              8388608              bytes\n"
STATUS = "Name:\tpython\nCapEff:\t{:016x}\n"


def files(pid: int, limits: str = LIMITS, capabilities: int = 0) -> Files:
    texts = {f"/proc/{pid}/limits": limits, f"/proc/{pid}/status": STATUS.format(capabilities)}
    return Files(texts=texts)


def test_the_soft_limit_binds() -> None:
    """8 MiB are 8,388,608 bytes."""
    assert 8388608 == limit(files(7), 7)


def test_no_limit_is_none() -> None:
    """Unlimited, and a process with CAP_IPC_LOCK, may lock what they want."""
    free = LIMITS.replace("8388608              8388608", "unlimited            unlimited")

    assert [None, None] == [limit(files(7, free), 7), limit(files(7, capabilities=1 << 14), 7)]


def test_only_ranks_that_hold_a_gpu_are_read(tmp_path: Path) -> None:
    """A monitor that has the control device open is no rank."""
    holders = GpuHolders(
        devices=8,
        holders=(
            Holder(pid=7, comm="python", start_s=1.0, minors=(0,), rank=3, job="88123"),
            Holder(pid=8, comm="nv-hostengine", start_s=1.0, minors=(0,)),
        ),
    )
    node = recorded(tmp_path, files=dict(files(7).texts))

    expected = LockLimits(ranks=(LockLimit(pid=7, rank=3, job="88123", most_bytes=8388608),))
    assert expected == asyncio.run(collect(node, Wanted(), holders))


@given(st.text(max_size=200))
def test_any_text_is_a_limit_or_none(text: str) -> None:
    """What /proc would never show binds nobody, and raises nothing."""
    got = limit(files(7, text), 7)

    assert True is (got is None or got >= 0)


def test_a_real_process_is_read() -> None:
    """The limit that a process was started with is the one that /proc tells of it."""

    argv = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        resource.prlimit(process.pid, resource.RLIMIT_MEMLOCK, (65536, 65536))

        async def look() -> Files:
            node = Live()
            try:
                got = await node.files(f"/proc/{process.pid}/limits")
            finally:
                await node.close()
            assert isinstance(got, Files)
            return got

        seen = asyncio.run(look())
        assert process.stdin is not None
        process.stdin.close()

    assert 65536 == limit(seen, process.pid)
