"""Number lines of Megatron and DeepSpeed, new and old, say step, loss and times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.lines import Numbers, numbers

HEAD = "[2026-11-30 02:11:09,120] [INFO] [logging.py:96:log_dist] "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                " [2026-11-30 02:11:09] iteration    41206/  500000 | consumed samples: 42194944 | "
                "elapsed time per iteration (ms): 3021.4 | learning rate: 1.200E-04 | "
                "global batch size:  1024 | lm loss: 1.930000E+00 | loss scale: 1.0 | "
                "grad norm: 0.310 | number of nan iterations:   0 |"
            ),
            Numbers(step=41206, loss=1.93, grad_norm=0.31, step_ms=3021.4, batch=1024),
        ),
        (
            " iteration 12/ 900 | elapsed time per iteration (ms): 88.0 | loss scale: 65536.0 |",
            Numbers(step=12, step_ms=88.0),
        ),
        (
            "iteration        5/       8 | elapsed time per iteration (ms): 4.8 | lm loss: 2.1",
            Numbers(step=5, loss=2.1, step_ms=4.8),
        ),
        (
            HEAD + "[Rank 0] time (ms) | fwd: 0.59 | bwd: 22.18 | bwd_inner: 1.49 | "
            "bwd_allreduce: 20.64 | step: 5.25",
            Numbers(step_ms=28.02, sync_ms=20.64),
        ),
        (
            (
                "rank=0 time (ms) | fwd_microstep: 10.25 | bwd_microstep: 31.5 | "
                "bwd_inner_microstep: 23.1 | bwd_allreduce_microstep: 8.12 | step_microstep: 0.25"
            ),
            Numbers(step_ms=42.0, sync_ms=8.12, micro=True),
        ),
        (
            "    all-grads-sync ................................: (12.31, 15.02)",
            Numbers(sync_ms=15.02),
        ),
        ("    grads-all-reduce ...............................: 14.70", Numbers(sync_ms=14.7)),
        (
            "time (ms) | forward: 310.22 | backward: 640.90 | allreduce: 52.10 | optimizer: 14.80",
            Numbers(sync_ms=52.1),
        ),
        ("[Rank 0] time (ms) | optimizer_allgather: 2.29 | optimizer_step: 0.52", None),
        ("validation loss at iteration 20 | lm loss value: 2.1 | lm loss PPL: 8.1", None),
        ("the elapsed time per iteration grew", None),
    ],
)
def test_numbers(text: str, expected: Numbers | None) -> None:
    """Each form gives its numbers, and lines of like words give none."""
    said = numbers(text)
    if said is not None and said.step_ms is not None:
        said = Numbers(
            **{name: getattr(said, name) for name in said.__struct_fields__ if name != "step_ms"},
            step_ms=round(said.step_ms, 6),
        )

    assert expected == said


@given(
    st.integers(0, 10**9),
    st.floats(0, 1e6),
    st.floats(allow_nan=False),
    st.floats(0, 1e3),
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
        grad_norm=float(f"{norm:.3f}"),
    )

    assert expected == numbers(text)


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
    ]
)


@given(st.lists(st.one_of(PARTS, st.text(max_size=5))).map("".join))
def test_any_text_is_read(text: str) -> None:
    """No line raises; times that are said are finite and not negative."""
    said = numbers(text)
    times = [] if said is None else [t for t in (said.step_ms, said.sync_ms) if t is not None]

    assert [] == [t for t in times if not 0 <= t < float("inf")]
