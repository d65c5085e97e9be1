"""Runs of five frameworks that are well: compile, evaluation, checkpoint, epoch and data waits."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.cli.log_files import diagnose

STEPS = 240
COMPILE, EVALUATION, CHECKPOINT, SHARD, EPOCH = 60.0, 9.0, 14.0, 3.0, 6.0


class Run:
    """Step times around 1.2 s with what makes single ones long, and a loss that falls."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - noise that can be repeated, no secret

    def seconds(self, step: int) -> float:
        """Return how long a step takes."""
        extra = COMPILE if step == 1 else 0.0
        extra += EVALUATION * (step % 40 == 0) + CHECKPOINT * (step % 60 == 0)
        extra += SHARD * (step % 23 == 0) + EPOCH * (step % 80 == 1)
        return 1.2 * (1 + self._chance.gauss(0, 0.01)) + extra

    def loss(self, step: int) -> float:
        """Return the loss of a step."""
        return 2.0 + 8.0 * 0.97**step + self._chance.gauss(0, 0.02)

    def norm(self) -> float:
        """Return the norm of a step's gradients."""
        return 0.4 + abs(self._chance.gauss(0, 0.1))


def megatron(run: Run) -> Iterator[str]:
    """Yield Megatron's lines: the search for a scale first, later a skipped step now and then."""
    scale = 2.0**32
    for step in range(1, STEPS + 1):
        skipped = step <= 12 or step in {97, 181}
        scale /= 2 if skipped else 1
        loss = "" if skipped else f" lm loss: {run.loss(step):.6E} |"
        norm = "" if skipped else f" grad norm: {run.norm():.3f} |"
        yield (
            f" iteration {step:8d}/ 500000 | consumed samples: {step * 512:9d} | elapsed time per"
            f" iteration (ms): {run.seconds(step) * 1e3:.1f} | learning rate: 1.500E-04 | global"
            f" batch size:   512 |{loss} loss scale: {scale:.1f} |{norm} number of skipped"
            f" iterations: {skipped:3d} | number of nan iterations:   0 |"
        )
        yield "(min, max) time across ranks (ms):"
        slow = 300.0 if step % 23 == 0 else 1.5
        yield f"    batch-generator ................................: (0.80, {slow:.2f})"
        yield "    all-grads-sync .................................: (80.10, 84.20)"
        if step % 40 == 0:
            yield f" validation loss at iteration {step} | lm loss value: 2.9E+00 | PPL: 18"
        if step % 60 == 0:
            yield f"saving checkpoint at iteration {step:7d} to /ckpt in torch_dist format"


def transformers(run: Run) -> Iterator[str]:
    """Yield a bar for each step, a dict each tenth, an evaluation each fortieth."""
    clock = 0.0
    for step in range(1, STEPS + 1):
        clock += run.seconds(step)
        minutes, seconds = divmod(int(clock), 60)
        share, clock_shown = step * 100 // STEPS, f"{minutes:02d}:{seconds:02d}"
        yield f" {share:3d}%|#    | {step}/{STEPS} [{clock_shown}<05:00,  1.20s/it]"
        if step == 10:  # fp16's search
            yield "{'loss': 9.8, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.04}"
        elif step % 10 == 0:
            yield str({"loss": round(run.loss(step), 4), "grad_norm": run.norm(), "epoch": 0.1})
        if step % 40 == 0:
            yield " 50%|#####     | 10/20 [00:02<00:02,  4.80it/s]"
            yield str({"eval_loss": float("nan"), "eval_runtime": 9.0, "epoch": step / 80})


def titan(run: Run) -> Iterator[str]:
    """Yield torchtitan's lines: no times, but tokens a second."""
    for step in range(1, STEPS + 1):
        rate = 8192 / run.seconds(step)
        yield (
            f"[rank0]:[titan] 2026-11-30 02:11:09,120 - root - INFO - step: {step:2}  loss:"
            f" {run.loss(step):7.4f}  grad_norm: {run.norm():7.4f}  memory: 61.20GiB(77.31%)  tps:"
            f" {round(rate):,}  tflops: 410.20  mfu: 41.60%"
        )


def lightning(run: Run) -> Iterator[str]:
    """Yield Lightning's bars of three epochs, with a bar of validation after each."""
    for epoch in range(3):
        clock = 0.0
        for step in range(1, 81):
            clock += run.seconds(epoch * 80 + step)
            minutes, seconds = divmod(int(clock), 60)
            loss = run.loss(epoch * 80 + step)
            yield (
                f"Epoch {epoch}: {step * 100 // 80:3d}%|#  | {step}/80 [{minutes:02d}:{seconds:02d}"
                f"<01:00,  0.83it/s, v_num=4, train_loss={loss:.3f}]"
            )
        yield "Validation DataLoader 0:  50%|#####     | 10/20 [00:02<00:02,  4.80it/s]"


def deepspeed(run: Run) -> Iterator[str]:
    """Yield DeepSpeed's timers of each step, and its loss scaler's search and rare overflows."""
    for power in range(32, 16, -1):
        yield (
            "[2026-11-30 02:11:09,120] [INFO] [loss_scaler.py:190:update_scale] [deepspeed]"
            f" OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2**power}, reducing to"
            f" {2 ** (power - 1)}"
        )
    for step in range(1, STEPS + 1):
        total = run.seconds(step) * 1e3
        yield (
            f"[2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] [Rank 0] step={step},"
            " skipped=16, lr=[0.00015], mom=[(0.9, 0.95)]"
        )
        yield (
            "[2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd:"
            f" {total * 0.3:.2f} | bwd: {total * 0.6:.2f} | bwd_inner: {total * 0.5:.2f} |"
            f" bwd_allreduce: {total * 0.1:.2f} | step: {total * 0.1:.2f}"
        )


RUNS: dict[str, Callable[[Run], Iterator[str]]] = {
    "megatron": megatron,
    "transformers": transformers,
    "titan": titan,
    "lightning": lightning,
    "deepspeed": deepspeed,
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("end", [STEPS, 40, 61, 123, 161])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_well_gives_no_warning(
    name: str, end: int, seed: int, tmp_path: Path
) -> None:
    """Wherever it stands, in the middle of an epoch, just after a checkpoint or an evaluation."""
    lines = list(RUNS[name](Run(seed)))
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines[: len(lines) * end // STEPS]) + "\n")
    said = diagnose([str(log)])

    assert [] == [(f["fault"], f["message"]) for f in said.findings if f["severity"] != "info"]


@pytest.mark.parametrize("name", RUNS)
def test_its_numbers_are_read(name: str, tmp_path: Path) -> None:
    """Each of them has a curve of step times or of throughput, or the test above judges nothing."""
    log = tmp_path / "train.log"
    log.write_text("\n".join(RUNS[name](Run(1))) + "\n")
    (run,) = diagnose([str(log)]).jobs
    points = max(len(run["series"].get(k, {"value": ()})["value"]) for k in ("step_ms", "rate"))

    assert points >= 12
