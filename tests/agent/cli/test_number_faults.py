"""What goes wrong in a run's numbers, as frameworks print it, each beside what looks like it."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.cli.log_files import diagnose


def megatron(step: int, loss: str = "2.25E+00", *, norm: str = "0.41", skipped: int = 0) -> str:
    """Return Megatron's line; without a loss its column is left out."""
    column = f" lm loss: {loss} |" if loss else ""
    return (
        f" iteration {step:8d}/  90000 | consumed samples: {step * 256:9d} | elapsed time per"
        f" iteration (ms): 1{step % 7}04.2 | learning rate: 9.000E-05 | global batch size:   256 |"
        f"{column} loss scale: 1.0 | grad norm: {norm} | number of skipped iterations: {skipped:3d}"
        " | number of nan iterations:   0 |"
    )


def bars(first: int, steps: int) -> Iterable[str]:
    """Return a bar of tqdm for each step, two seconds apart."""
    for n in range(first, first + steps):
        minutes, seconds = divmod(2 * n, 60)
        yield f"  4%|4         | {n}/9000 [{minutes:02d}:{seconds:02d}<4:55:00,  2.00s/it]"


def overflow(scale: int) -> str:
    """Return DeepSpeed's line of a step that overflowed."""
    return (
        "[2026-11-30 02:11:09,120] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! "
        f"Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
    )


def trainer(loss: float, norm: float = 1.25) -> str:
    """Return the dict of HF Trainer."""
    return str({"loss": loss, "grad_norm": norm, "learning_rate": 4.5e-05, "epoch": 0.04})


STEADY = [megatron(n) for n in range(1, 60)]
CASES = {
    "the loss column is gone though nothing is skipped": (
        [*STEADY, megatron(60, ""), megatron(61, "")],
        ["nan_loss"],
    ),
    "the loss column is gone for a skipped step": ([*STEADY, megatron(60, "", skipped=1)], []),
    "the norm is NaN, and the counter of NaN iterations says 0": (
        [megatron(5000 + n, "", norm="nan") for n in range(4)],
        ["nonfinite_grad_norm"],
    ),
    "the norm is infinite in one skipped step": (
        [*STEADY, megatron(60, "", norm="inf", skipped=1), megatron(61)],
        [],
    ),
    "HF Trainer prints 0.0 for NaN": (
        [trainer(2.31), trainer(2.28), trainer(0.0), trainer(0.0)],
        ["loss_zero"],
    ),
    "HF Trainer prints 0.0 beside a norm of NaN": (
        [trainer(2.31), trainer(0.0, float("nan")), trainer(0.0, float("nan"))],
        ["nonfinite_grad_norm"],
    ),
    "an easy task is learnt": ([trainer(0.3 / 2**n) for n in range(20)] + [trainer(0.0)], []),
    "the scale falls step after step, late in a run": (
        [line for n in range(300, 306) for line in (*bars(n, 1), overflow(64 >> (n - 300)))],
        ["loss_scale_collapse"],
    ),
    "two overflows at the start": ([*bars(0, 2), overflow(256), *bars(2, 1), overflow(256)], []),
    "the loss jumps with its gradient, and stays": (
        [*STEADY, *(megatron(60 + n, "5.900000E+00", norm="88.1") for n in range(6))],
        ["grad_norm_exploding", "loss_spike"],
    ),
    "one noisy step": ([*STEADY, megatron(60, "2.610000E+00"), megatron(61)], []),
    "one rank works longer": (
        [
            f"[rank{rank}]: step: {step} loss: 2.5 step_time_ms: {300 if rank == 6 else 240}.{step}"
            for step in range(10, 30)
            for rank in range(8)
        ],
        ["straggler_rank"],
    ),
    "all ranks work alike": (
        [
            f"[rank{rank}]: step: {step} loss: 2.5 step_time_ms: 24{rank % 3}.{step}"
            for step in range(10, 30)
            for rank in range(8)
        ],
        [],
    ),
    "tensor parallelism over two nodes": (
        ["torchrun --nnodes=2 --nproc_per_node=8 pretrain.py --tensor-model-parallel-size 16"],
        ["tensor_parallel_spans_nodes"],
    ),
    "tensor parallelism inside a node": (
        ["torchrun --nnodes=2 --nproc_per_node=8 pretrain.py --tensor-model-parallel-size 8"],
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_told_by_its_numbers(name: str, tmp_path: Path) -> None:
    """The faults above a note are exactly these, and each quotes a line that stands there."""
    lines, faults = CASES[name]
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines) + "\n")
    loud = [f for f in diagnose([str(log)]).findings if f["severity"] != "info"]
    quotes = [e for f in loud for e in f["evidence"] if e["line"] is not None]

    assert faults == [f["fault"] for f in loud]
    assert [] == [q for q in quotes if not lines[q["line"] - 1].startswith(q["text"][:200])]
