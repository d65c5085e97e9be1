"""A small training job on processors: one rank, told by its environment which and what goes wrong.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 python job.py hang

It trains over gloo as PyTorch's DDP does, prints a line a step on rank 0, and at step 6 on the
last rank the named thing happens: `nan`, `hang`, `killed`, `disagree`; `well` goes on. It stays
until it is ended, as a job does whose launcher waits for it.
"""

import math
import os
import signal
import sys
import threading
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

# Only the environment of this job has torch.
import torch  # type: ignore[import-not-found,unused-ignore]  # its own extra
import torch.distributed as dist  # type: ignore[import-not-found,unused-ignore]  # its own extra
from torch.nn.parallel import DistributedDataParallel  # type: ignore[import-not-found,unused-ignore]  # its own extra

STEP_S = 0.2
GOES_WRONG = 6
WATCHDOG_S = 8.0


class Watchdog:
    """Writes the flight recorder's dump where no step ended for long, as NCCL's watchdog does."""

    def __init__(self, rank: int) -> None:
        self._prefix = os.environ.get("TORCH_FR_DUMP_TEMP_FILE")
        self._rank = rank
        self._stepped = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def step(self) -> None:
        """Say that a step ended."""
        self._stepped.set()

    def dump(self) -> None:
        """Write the dump: a pickle for even ranks, JSON for odd ones."""
        if self._prefix is None:
            return
        # Its stubs leave out how the recorder is dumped.
        recorder: Any = torch._C._distributed_c10d
        data = (
            recorder._dump_fr_trace_json(includeCollectives=True, onlyActive=False)
            if self._rank % 2
            else recorder._dump_fr_trace(
                includeCollectives=True, includeStackTraces=False, onlyActive=False
            )
        )
        Path(f"{self._prefix}{self._rank}").write_bytes(data)

    def _watch(self) -> None:
        self._stepped.wait()
        while self._stepped.wait(WATCHDOG_S):
            self._stepped.clear()
        self.dump()


def train(mode: str, rank: int, last: int, watchdog: Watchdog) -> None:
    """Train for ever; what goes wrong goes wrong on the last rank."""
    torch.manual_seed(7)
    model = DistributedDataParallel(torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    while True:
        step += 1
        began = time.perf_counter()
        wrong = step == GOES_WRONG
        if wrong and rank == last:
            go_wrong(mode)
        if step >= GOES_WRONG and mode == "nan":
            for group in optimizer.param_groups:
                group["lr"] = 1e30
        time.sleep(STEP_S)
        loss = model(torch.randn(32, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        watchdog.step()
        if rank == 0:
            report(step, mean.item() / (last + 1), time.perf_counter() - began)


def go_wrong(mode: str) -> None:
    """Do on this rank what the job is to be diagnosed for."""
    if mode == "hang":
        time.sleep(3600)
    if mode == "disagree":
        dist.broadcast(torch.ones(16), src=dist.get_rank())
        dist.barrier()
    if mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


def report(step: int, loss: float, seconds: float) -> None:
    """Print one step as many training loops do."""
    shown = f"{loss:.6f}" if math.isfinite(loss) else str(loss)
    sys.stdout.write(f"step: {step} loss: {shown} step_time_ms: {1000 * seconds:.1f}\n")
    sys.stdout.flush()


def main() -> None:
    """Run one rank until it is ended."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # Of the dataset and the network, only the collectives are of interest here.
    torch.set_num_threads(1)
    # Long enough for two ranks that start on a busy machine.
    timeout = timedelta(seconds=20 if sys.argv[1] == "disagree" else 1800)
    dist.init_process_group("gloo", timeout=timeout)
    watchdog = Watchdog(rank)
    try:
        train(sys.argv[1], rank, world - 1, watchdog)
    except RuntimeError:
        traceback.print_exc()
        watchdog.dump()
    time.sleep(3600)


if __name__ == "__main__":
    main()
