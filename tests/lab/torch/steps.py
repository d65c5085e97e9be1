"""Eight ranks of which one may work a fifth longer, forked from one process that imported torch.

    python steps.py SLOW STEPS        SLOW is the rank that is slow, -1 for none

Work is a sleep, so that the ranks do not fight for processors; what each waits in the
synchronisation is measured, as training loops that print both do.
"""

import os
import socket
import sys
import time

# Only the environment of this job has torch.
import torch  # type: ignore[import-not-found,unused-ignore]  # its own extra
import torch.distributed as dist  # type: ignore[import-not-found,unused-ignore]  # its own extra

WORLD = 8
WORK_S = 0.1
SLOWER = 1.2


def train(rank: int, slow: int, steps: int) -> None:
    """Train one rank and print its times."""
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    for _ in range(steps):
        began = time.perf_counter()
        time.sleep(WORK_S * (SLOWER if rank == slow else 1.0))
        worked = time.perf_counter()
        dist.all_reduce(torch.ones(64))
        ended = time.perf_counter()
        report(rank, 1000 * (worked - began), 1000 * (ended - worked))
    dist.destroy_process_group()


def report(rank: int, worked_ms: float, waited_ms: float) -> None:
    """Print one step as DeepSpeed's wall_clock_breakdown does."""
    forward, inner = 0.4 * worked_ms, 0.6 * worked_ms
    line = (
        f"[Rank {rank}] time (ms) | fwd: {forward:.2f} | bwd: {inner + waited_ms:.2f} | "
        f"bwd_inner: {inner:.2f} | bwd_allreduce: {waited_ms:.2f} | step: 0.10\n"
    )
    # One write a line, as eight processes write into one file.
    os.write(1, line.encode())


def main() -> int:
    """Fork the ranks and wait for them."""
    slow, steps = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1])}
    pids = []
    for rank in range(WORLD):
        if (pid := os.fork()) == 0:
            train(rank, slow, steps)
            os._exit(0)
        pids.append(pid)
    return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)


if __name__ == "__main__":
    sys.exit(main())
