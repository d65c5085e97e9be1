"""A line says who wrote it: rank, host, process, device, in the forms of launchers and loggers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.rules import prefix


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu-017:2211:2290 [4] enqueue.cc:1012 NCCL WARN x", ("gpu-017", 2211, 4)),
        ("[1,3]<stderr>:gpu-017:2211:2290 [4] NCCL INFO x", ("gpu-017", 2211, 4)),
        ("[2026-11-30 02:11:09] gpu-017:2211:2290 [4] x.cc:1 NCCL WARN x", ("gpu-017", 2211, 4)),
        ("gpu-017: [2026-11-30 02:11:09,120] [INFO] x", ("gpu-017", None, None)),
        ("[pod/trainer-worker-3/pytorch] x", ("trainer-worker-3", None, None)),
        ("trainer-worker-3 pytorch x", ("trainer-worker-3", None, None)),
        ("(RayTrainWorker pid=4127, ip=10.4.0.17) x", ("10.4.0.17", 4127, None)),
        ("(Worker_TP3 pid=911) ERROR x", (None, 911, None)),
        ("RuntimeError: x", (None, None, None)),
        ("epoch 3: gpu-017: x", (None, None, None)),
        ("step-12: 4", (None, None, None)),
    ],
)
def test_who_wrote_a_line(text: str, expected: tuple[Any, ...]) -> None:
    """Host, process and CUDA device are taken from a prefix of a known form, not from words."""
    told = prefix.origin(text)

    assert expected == (told.get("host"), told.get("pid"), told.get("local_gpu"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[default3]:loss 2.31", {"local_rank": 3}),
        ("[2026-11-30 02:11:09 TP14] x", {"tp_rank": 14}),
        ("[2026-11-30 02:11:09 DP1 TP3 EP3] x", {"tp_rank": 3}),
        ("(Worker_TP3 pid=911) x", {"tp_rank": 3, "pid": 911}),
    ],
)
def test_a_rank_within_a_node_or_a_group_is_no_global_one(
    text: str, expected: dict[str, int]
) -> None:
    """Local and tensor-parallel ranks are told as such."""
    assert (expected, None) == (prefix.origin(text), prefix.rank(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logs/rank_11.log", 11),
        ("/var/log/job/rank3/stderr.log.1.gz", 3),
        ("node-7.log", None),
        ("frank3.txt.old", 3),
        ("ranks.log", None),
    ],
)
def test_a_file_of_one_rank(name: str, expected: int | None) -> None:
    """A launcher that writes a file for each rank names it in the path."""
    assert expected == prefix.file_rank(name)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever a line holds, nothing raises, and a rank is a number that fits."""
    prefix.origin(text + " NCCL ")
    prefix.process(text + " NCCL ")
    prefix.file_rank(text)
    rank = prefix.rank(text)

    assert rank is None or 0 <= rank < 10**prefix.DIGITS
