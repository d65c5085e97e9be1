"""Number lines of frameworks, new and old, say step, loss and times."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.lines import numbers
from diagnostics.series.point import Numbers
from tests.pace import slower, spent

HEAD = "[2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] "


def said(text: str) -> dict[str, Any] | None:
    """Return what a line says without what it leaves open; times rounded."""
    told = numbers(text)
    if told is None:
        return None
    values = {name: getattr(told, name) for name in told.__struct_fields__}
    return {
        name: round(value, 9) if isinstance(value, float) else value
        for name, value in values.items()
        if value is not None and value is not False
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                " [2026-11-30 02:11:09] iteration    41206/  500000 | consumed samples: 42194944 | "
                "elapsed time per iteration (ms): 3021.4 | learning rate: 1.200E-04 | "
                "global batch size:  1024 | lm loss: 1.930000E+00 | loss scale: 1.0 | "
                "grad norm: 0.310 | number of skipped iterations:   2 |"
            ),
            {
                "step": 41206,
                "loss": 1.93,
                "grad_norm": 0.31,
                "loss_scale": 1.0,
                "lr": 0.00012,
                "skipped": 2,
                "step_ms": 3021.4,
                "batch": 1024,
            },
        ),
        (
            (
                " iteration 12/ 900 | elapsed time per iteration (s): 88.0 | loss scale: 65536.0 |"
                " grad norm: nan | number of skipped iterations:   0 | samples per second: 11.5 |"
            ),
            {
                "step": 12,
                "step_ms": 88_000.0,
                "loss_scale": 65536.0,
                "grad_norm": float("nan"),
                "lost": True,
                "rate": 11.5,
            },
        ),
        (
            (
                " samples/sec: 12.5 | iteration 10/ 900 | elapsed time per iteration (ms): 51.2 |"
                " learning rate: 6.000E-06 | lm_loss: 1.094E+01 | loss scale: 4096.0 |"
            ),
            {"step": 10, "loss": 10.94, "step_ms": 51.2, "lr": 6e-06, "loss_scale": 4096.0},
        ),
        (
            "iteration        5/       8 | elapsed time per iteration (ms): 4.8 | lm-loss: 2.1",
            {"step": 5, "loss": 2.1, "step_ms": 4.8},
        ),
        (
            HEAD + "[Rank 0] time (ms) | fwd: 0.59 | bwd: 22.18 | bwd_inner: 1.49 | "
            "bwd_allreduce: 20.64 | step: 5.25",
            {"step_ms": 28.02, "sync_ms": 20.64, "forward_ms": 0.59, "backward_ms": 22.18},
        ),
        (
            (
                "rank=0 time (ms) | forward_microstep: 10.25 | backward_microstep: 31.5 | "
                "backward_allreduce_microstep: 8.12 | step_microstep: 0.25"
            ),
            {
                "step_ms": 42.0,
                "sync_ms": 8.12,
                "forward_ms": 10.25,
                "backward_ms": 31.5,
                "micro": True,
            },
        ),
        (
            "    all-grads-sync ................................: (12.31, 15.02)",
            {"sync_ms": 15.02, "sync_least_ms": 12.31},
        ),
        ("    grads-all-reduce ...............................: 14.70", {"sync_ms": 14.7}),
        ("    batch-generator ................................: (1.5, 90.25)", {"data_ms": 90.25}),
        (
            (
                "time (ms) | forward-compute: 310.22 | backward-compute: 640.90 | "
                "backward-params-all-reduce: 52.10 | batch-generator: 2.5 | optimizer: 14.80"
            ),
            {"forward_ms": 310.22, "backward_ms": 640.9, "sync_ms": 52.1, "data_ms": 2.5},
        ),
        (
            HEAD + "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096, "
            "reducing to 2048",
            {"skipped": 1, "scale_from": 4096.0, "scale_to": 2048.0},
        ),
        (
            (
                "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096.0, but "
                "hysteresis is 2. Reducing hysteresis to 1"
            ),
            {"skipped": 1, "scale_from": 4096.0, "scale_to": 4096.0},
        ),
        (
            (
                "  8%|# | 78/900 [01:18<13:42,  1.00s/it][2026-11-30] [deepspeed] OVERFLOW"
                "! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32"
            ),
            {
                "step": 78,
                "elapsed_s": 78.0,
                "skipped": 1,
                "scale_from": 64.0,
                "scale_to": 32.0,
            },
        ),
        (
            "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8192.0",
            {"skipped": 1, "scale_to": 8192.0},
        ),
        (
            "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 16.0",
            {"skipped": 1, "scale_to": 16.0},
        ),
        (
            "steps: 40 loss: 3.1425 iter time (s): 0.512 samples/sec: 62.5",
            {"step": 40, "loss": 3.1425, "step_ms": 512.0, "rate": 62.5},
        ),
        (
            (
                "epoch=0/micro_step=80/global_step=40, RunningAvgSamplesPerSec=70.1, "
                "CurrSamplesPerSec=71.25, MemAllocated=6.5GB"
            ),
            {"step": 40, "rate": 71.25},
        ),
        (
            "{'loss': 1.732, 'grad_norm': 0.91, 'learning_rate': 4.5e-05, 'epoch': 0.61}",
            {"loss": 1.732, "grad_norm": 0.91, "lr": 4.5e-05},
        ),
        (
            "{'loss': '1.732', 'grad_norm': 'nan', 'learning_rate': '4.5e-05', 'epoch': '0.61'}",
            {"loss": 1.732, "grad_norm": float("nan"), "lr": 4.5e-05},
        ),
        (
            "{'loss': 0.0, 'grad_norm': 0.12, 'reward': 0.4, 'kl': 0.01}",
            {"loss": 0.0, "grad_norm": 0.12, "rewarded": True},
        ),
        (
            " 31%|███       | 812/2604 [1:11:20<25:01,  5.10s/it]",
            {"step": 812, "elapsed_s": 4280.0},
        ),
        (
            "Epoch 2:  31%|███  | 812/2604 [11:20<25:01,  1.19it/s, v_num=4, train_loss=2.310]",
            {"step": 6020, "elapsed_s": 680.0, "loss": 2.31},
        ),
        (
            (
                "Epoch 0: : 10%|█ | 100/1000 [02:40<12:00, reduced_train_loss=2.3, "
                "global_step=99.0, train_step_timing in s=1.23]"
            ),
            {"step": 99, "loss": 2.3, "step_ms": 1230.0},
        ),
        (
            (
                "Training epoch 0, iteration 9/249 | lr: 3e-06 | global_batch_size: 16 | "
                "global_step: 9 | reduced_train_loss: 1.653 | train_step_timing in s: 2.505"
            ),
            {"step": 9, "lr": 3e-06, "batch": 16, "loss": 1.653, "step_ms": 2505.0},
        ),
        (
            (
                "[rank0]:[titan] 2026-11-30 02:11:09,120 - root - INFO - step: 1,240  loss:  2.6250"
                "  grad_norm:  0.8300  memory: 61.20GiB(77.31%)  tps: 7,104  mfu: 41.60%"
            ),
            {"step": 1240, "loss": 2.625, "grad_norm": 0.83, "rate": 7104.0},
        ),
        (
            (
                "[INFO|DP=0|PP=0|TP=0|gpu-021]: iteration: 70 / 900 | consumed_tokens: 73.4M | "
                "elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 839K | lm_loss: 7.52 | "
                "lr: 0.0003 | grad_norm: 1.21"
            ),
            {
                "step": 70,
                "step_ms": 1250.0,
                "rate": 839_000.0,
                "loss": 7.52,
                "lr": 0.0003,
                "grad_norm": 1.21,
            },
        ),
        (
            (
                '2026-11-30 02:11:09 | INFO | train_inner | {"epoch": 1, "loss": "9.525", "wps": '
                '"61520", "num_updates": "400", "lr": "5e-05", "gnorm": "1.7", "loss_scale": "64"}'
            ),
            {
                "step": 400,
                "loss": 9.525,
                "rate": 61520.0,
                "lr": 5e-05,
                "grad_norm": 1.7,
                "loss_scale": 64.0,
            },
        ),
        (
            (
                "completed step: 30, seconds: 4.125, TFLOP/s/device: 180.5, "
                "Tokens/s/device: 1985.9, total_weights: 65536, loss: 8.125"
            ),
            {"step": 30, "step_ms": 4125.0, "rate": 1985.9, "loss": 8.125},
        ),
        (
            (
                "Epoch: [1]  [ 200/1000]  eta: 0:04:10  lr: 0.05  img/s: 812  loss: 4.2 (4.4)  "
                "time: 0.3125  data: 0.0125  max mem: 9120"
            ),
            {
                "step": 1200,
                "lr": 0.05,
                "rate": 812.0,
                "loss": 4.2,
                "step_ms": 312.5,
                "data_ms": 12.5,
            },
        ),
        (
            "Epoch: [0][  20/1000]\tTime  0.250 ( 0.345)\tData  0.125 ( 0.1)\tLoss 6.5e+00 (6.7)",
            {"step": 20, "step_ms": 250.0, "data_ms": 125.0, "loss": 6.5},
        ),
        (
            "iter 900: loss 2.8125, time 231.5ms, mfu 38.10%",
            {"step": 900, "loss": 2.8125, "step_ms": 231.5},
        ),
        (
            "step   90/500 | loss 3.625 | norm 1.25 | lr 1.50e-04 | 123.45 ms",
            {"step": 90, "loss": 3.625, "grad_norm": 1.25, "lr": 0.00015},
        ),
        ("epoch 3 step 912 lr 0.0003 loss 2.5", {"step": 912, "lr": 0.0003, "loss": 2.5}),
        (
            "  1073741824     268435456     float     sum      -1   5120.5  209.70  393.19      0",
            {"bus_gb_s": 393.19, "batch": 1 << 30},
        ),
        (
            (
                '"coll_perf": {"coll": "AllReduce", "coll_sn": 12, "coll_msg_size_bytes": '
                '1073741824, "coll_exec_time_us": 5012, "coll_busbw_gbs": 401.6}'
            ),
            {"bus_gb_s": 401.6, "batch": 1 << 30},
        ),
    ],
)
def test_numbers(text: str, expected: dict[str, Any]) -> None:
    """Each form gives its numbers, and no others."""
    assert repr(sorted(expected.items())) == repr(sorted((said(text) or {}).items()))


@pytest.mark.parametrize(
    "text",
    [
        "[Rank 0] time (ms) | optimizer_allgather: 2.29 | optimizer_step: 0.52",
        "validation loss at iteration 20 | lm loss value: 2.1 | lm loss PPL: 8.1",
        "the elapsed time per iteration grew",
        "{'eval_loss': 2.1, 'eval_runtime': 3.2}",
        "epoch 001 | valid on 'valid' subset | loss 10.1 | ppl 980 | num_updates 100",
        "Loading checkpoint shards:  50%|█████     | 1/2 [00:05<00:05,  5.12s/it]",
        "Map:  10%|█         | 9000/90000 [00:05<00:45, 1800.00 examples/s]",
        "Validation DataLoader 0:  50%|█████     | 10/20 [00:01<00:01,  9.12it/s]",
        "Evaluating:  50%|█████     | 10/20 [00:01<00:01,  9.12it/s]",
        "  loss_scale_window ............................... 1000",
        '    "initial_loss_scale": 65536,',
        "best loss: 2.25",
        "aux loss: 0.01",
        "compute loss over 4096 tokens",
        "  lr: 0.1",
        "        1024           256     float     sum      -1     20.1    0.05    0.10      0",
    ],
)
def test_lines_of_like_words_say_nothing(text: str) -> None:
    """Evaluation, loading, settings and prose are no steps."""
    assert said(text) is None


@given(
    st.integers(0, 10**9),
    st.floats(0, 1e6),
    st.floats(allow_nan=False),
    st.floats(0.001, 1e3),
)
def test_a_printed_step_is_read_back(step: int, ms: float, loss: float, norm: float) -> None:
    """What Megatron's line prints comes back as printed, infinite loss too."""
    text = (
        f" iteration {step:8d}/ 900 | elapsed time per iteration (ms): {ms:.1f} |"
        f" lm loss: {loss:.6E} | grad norm: {norm:.3f} |"
    )
    expected = Numbers(
        step=step,
        step_ms=float(f"{ms:.1f}"),
        loss=float(f"{loss:.6E}"),
        grad_norm=float(f"{norm:.3f}") or None,
    )

    assert expected == numbers(text)


@given(st.integers(0, 10**9), st.floats(0, 1e9), st.floats(1e-9, 1e9), st.floats(0, 1))
def test_a_printed_dict_is_read_back(step: int, loss: float, norm: float, lr: float) -> None:
    """What Python prints of a dict comes back, in every notation that it uses."""
    text = str({"loss": loss, "grad_norm": norm, "learning_rate": lr, "step": step})

    assert Numbers(step=step, loss=loss, grad_norm=norm, lr=lr) == numbers(text)


HOSTILE = ("x", "a/", "loss ", "loss: ", "1,", "|", "[1/2 ", "....: (", "epoch ", "a:", "nan", " ")


@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_line_is_read_quickly(part: str) -> None:
    """A line as long as one is kept, full of what forms look for, takes no tenth of a second."""
    text = "step: 3 loss: 2.5 it/s] time (ms) |" + part * (2_000 // len(part))

    assert spent(lambda: numbers(text)) < 0.1 * slower()


PARTS = st.sampled_from(
    [
        "iteration 3/",
        "|",
        "elapsed time per iteration (ms):",
        "time (ms) |",
        "fwd: ",
        "1_0",
        "inf",
        ":",
        "loss",
        "loss scale: ",
        "reducing to ",
        "....: (",
        "float ",
        "| 1/2 [00:01<00:01, 1.0s/it",
        "1,000",
        "9" * 40,
        "E+999",
        "٣",
    ]
)


@given(st.lists(st.one_of(PARTS, st.text(max_size=5))).map("".join))
def test_any_text_is_read(text: str) -> None:
    """No line raises; times that are said are finite and not negative."""
    told = numbers(text) or Numbers()
    times = [told.step_ms, told.sync_ms, told.data_ms, told.rate, told.lr, told.loss_scale]

    assert [] == [t for t in times if t is not None and not 0 <= t < float("inf")]
