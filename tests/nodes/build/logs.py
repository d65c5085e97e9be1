"""Training logs as jobs on these nodes wrote them: the true shape, values of our own."""

from collections.abc import Iterator

JOB_STARTS = """\
W1129 20:22:16.180 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable to 1
using world size: 64, data-parallel size: 8, tensor-model-parallel size: 8
building GPT model ...
training ...
"""


def iterations(first: int, last: int, every: int = 1) -> Iterator[str]:
    for n in range(first, last, every):
        at = (n - first) * 3 + 20
        stamp = f"2026-11-30 02:{at // 60:02d}:{at % 60:02d}"
        loss, norm = 1.93 - (n % 7) * 0.004, 0.31 + (n % 5) * 0.01
        timed = f"elapsed time per iteration (ms): {3021.4 + n % 9:.1f}"
        yield (
            f" [{stamp}] iteration {n:8d}/  500000 | consumed samples: {n * 1024:12d} | {timed} | "
            f"learning rate: 1.200E-04 | global batch size:  1024 | lm loss: {loss:.6E} | "
            f"loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 |"
        )


def healthy() -> str:
    """Return a log whose last line is a minute old."""
    lines = []
    for n, line in enumerate(iterations(41_000, 41_200)):
        lines += [line, "(min, max) time across ranks (ms):"]
        lines.append(f"    forward-backward ...............: (2611.04, 2620.{n % 90 + 10})")
        lines.append(f"    all-grads-sync .................: (112.31, 115.{n % 90 + 10})")
    return JOB_STARTS + "\n".join(lines) + "\n"


def timed_out(rank: int) -> str:
    """Return a log in which all ranks but *rank* report that a collective did not end."""
    lines = list(iterations(41_050, 41_207))
    head = "[rank{0}]:[E1130 02:20:51.{1:03d}774511 ProcessGroupNCCL.cpp:632] [Rank {0}] "
    caught = (
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=204118, OpType=ALLREDUCE, "
        "NumelIn=262144, NumelOut=262144, Timeout(ms)=600000) ran for {0} milliseconds before "
        "timing out."
    )
    ranks = (n for n in range(64) if n != rank)
    lines += [head.format(n, 300 + n) + caught.format(600_041 + n) for n in ranks]
    return JOB_STARTS + "\n".join(lines) + "\n"


def killed() -> str:
    """Return a log of a job that ended because a rank got SIGKILL."""
    lines = list(iterations(41_050, 41_190))
    lines.append(
        "E1130 02:11:02.417 torch/distributed/elastic/multiprocessing/api.py:869] failed "
        "(exitcode: -9) local_rank: 5 (pid: 218736) of binary: /sw/env/bin/python"
    )
    return JOB_STARTS + "\n".join(lines) + "\n"


def not_a_number() -> str:
    """Return a log whose loss is NaN from one step on."""
    lines = list(iterations(41_050, 41_190))
    for n, line in enumerate(lines[-24:]):
        head, _, rest = line.partition("lm loss: ")
        tail = rest.partition(" | ")[2].partition("grad norm: ")
        lines[len(lines) - 24 + n] = f"{head}lm loss: NAN | {tail[0]}grad norm: nan |"
    return JOB_STARTS + "\n".join(lines) + "\n"
