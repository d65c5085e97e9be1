"""Logs of jobs to which something happened on another stage: the true shape, our own values."""

from collections.abc import Iterator, Sequence

from tests.nodes.build.logs import JOB_STARTS, iterations

WATCHDOG = (
    "[rank{0}]:[E1130 {1} ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={2}, OpType={3}, NumelIn=524288, NumelOut=524288, "
    "Timeout(ms)=600000) ran for {4} milliseconds before timing out."
)


def _job(lines: Sequence[str]) -> str:
    return JOB_STARTS + "\n".join(lines) + "\n"


def _waited(ranks: Sequence[int], at: str, ran_ms: int, what: str = "ALLREDUCE") -> Iterator[str]:
    for n in ranks:
        clock = f"{at}.{(211_304 + n * 1013) % 1_000_000:06d}"
        yield WATCHDOG.format(n, clock, 331_207, what, ran_ms + n % 3)


def retried(rank: int, device: str) -> str:
    """Return a log in which a rank's packets got no answer, and the others waited for it."""
    lines = list(iterations(41_050, 41_170))
    warn = (
        f"gpu-017:218733:219{{0}} [2] NCCL WARN NET/IB: Got completion from peer "
        "203.0.113.83<{1}> with status=12 opcode=0 len=0 vendor err 129 (Send) "
        f"localGid fe80::5aa2:e1ff:fe31:3 remoteGids fe80::5aa2:e1ff:fe77:3 hca {device}"
    )
    lines += [warn.format(640 + n, 40_112 + n) for n in range(4)]
    others = [n for n in range(64) if n != rank]
    return _job([*lines, *_waited(others, "02:21:40", 600_013)])


def corrected_by_death(rank: int) -> str:
    """Return a log in which a rank met an uncorrectable error and the others timed out."""
    lines = list(iterations(41_050, 41_190))
    said = "terminated with exception: CUDA error: uncorrectable ECC error encountered"
    lines.append(
        f"[rank{rank}]:[E1130 02:10:58.314402118 ProcessGroupNCCL.cpp:1899] [PG ID 0 PG GUID "
        f"0(default_pg) Rank {rank}] Process group watchdog thread {said}"
    )
    others = [n for n in range(64) if n != rank]
    return _job([*lines, *_waited(others, "02:20:58", 600_072)])


def closed_by_peer(rank: int, local: int, pid: int) -> str:
    """Return a log in which a rank was killed and its peers saw their connections close."""
    lines = list(iterations(41_050, 41_190))
    lines.append(
        "E1130 02:11:02.901 torch/distributed/elastic/multiprocessing/api.py:869] failed "
        f"(exitcode: -9) local_rank: {local} (pid: {pid}) of binary: /sw/env/bin/python"
    )
    warn = (
        "gpu-{0:03d}:20{1}:21{1} [{2}] socket.c:524 NCCL WARN socketProgress: Connection closed "
        "by remote peer gpu-017.cluster<{3}>"
    )
    near = (n for n in range(64) if n // 8 != rank // 8)
    lines += [
        f"{n}: " + warn.format(16 + n // 8, 4100 + n, n % 8, 41_000 + n) for n in list(near)[:16]
    ]
    return _job(lines)


def not_saved() -> str:
    """Return a log in which a checkpoint could not be written."""
    lines = list(iterations(41_050, 41_100))
    failed = "PytorchStreamWriter failed writing file data/211: file write failed"
    lines += [
        "saving checkpoint at iteration   41100 to /scratch/runs/88123",
        "[rank8]: Traceback (most recent call last):",
        '[rank8]:   File "/home/ml/pretrain/train.py", line 311, in save',
        "[rank8]:     torch.save(state, path)",
        f"[rank8]: RuntimeError: [enforce fail at inline_container.cc:603] . {failed}",
        "[rank8]: OSError: [Errno 28] No space left on device",
    ]
    return _job(lines)


def no_library() -> str:
    """Return a log of a job that did not reach its GPUs."""
    return (
        "launching 4 workers\n"
        "Failed to initialize NVML: Driver/library version mismatch\n"
        "Traceback (most recent call last):\n"
        '  File "/home/ml/finetune/run.py", line 88, in <module>\n'
        '    model.to("cuda")\n'
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions "
        "before calling NumCudaDevices() that might have already set an error? Error 803: system "
        "has unsupported display driver / cuda driver combination\n"
    )


def slower(rank: int, by: float) -> str:
    """Return a log in which each rank times its own work, and one takes *by* times as long."""
    lines = []
    for step in range(1, 61):
        for n in range(8, 16):
            ms = (301.0 + (step * 7 + n * 3) % 11 * 0.4) * (by if n == rank and step > 5 else 1.0)
            loss = 2.41 - step * 0.001
            lines.append(
                f"[rank{n}]: step: {41_000 + step} loss: {loss:.4f} step_time_ms: {ms:.1f}"
            )
    return JOB_STARTS + "\n".join(lines) + "\n"


def starved() -> str:
    """Return a log whose steps wait for their batches for half of the time."""
    lines = []
    for n, line in enumerate(iterations(41_000, 41_120)):
        lines += [line, "(min, max) time across ranks (ms):"]
        lines.append(f"    forward-backward ...............: (1391.04, 1399.{n % 90 + 10})")
        lines.append(f"    batch-generator ................: (1507.31, 1522.{n % 90 + 10})")
    return JOB_STARTS + "\n".join(lines) + "\n"
