"""Anchors find the lines that hold them: no line is missed, none is found twice."""

from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import knowledge
from diagnostics.rules.anchors import Anchors
from diagnostics.rules.line import LINE_CAP

WORDS = ("out of memory", "timeout", "loss: nan")
ANCHORS = Anchors(WORDS)
TEXT = st.lists(
    st.sampled_from(
        [
            b"x",
            b"\n",
            b"\n\n",
            b"TIMEOUT",
            b"timeout",
            b"Loss: NaN",
            b"out of memory",
            b"\xff",
            b"\0",
        ]
    )
).map(b"".join)


@given(TEXT)
def test_lines_are_those_that_hold_an_anchor(piece: bytes) -> None:
    """One pass over bytes says the same as looking for each word in each line."""
    lines = piece.split(b"\n")
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in range(len(lines))]
    expected = [
        (start, line, {n for n, word in enumerate(WORDS) if word.encode() in line.lower()})
        for start, line in zip(starts, lines, strict=True)
        if any(word.encode() in line.lower() for word in WORDS)
    ]

    assert expected == [(f.start, f.line, set(f.anchors)) for f in ANCHORS.lines(piece)]


def test_an_anchor_may_end_with_the_line_end() -> None:
    """Where an anchor asks for no letter behind it, a line end will do and stays out."""
    found = Anchors(["=inf[^a-z]"]).lines(b"a\nloss=inf\nb\nloss=inf x\nloss=info\n")

    assert [(2, b"loss=inf"), (13, b"loss=inf x")] == [(f.start, f.line) for f in found]


def test_a_hit_past_the_cap_is_none() -> None:
    """Of a line of 200 KB only the first 64 KiB are looked at, and the next line is whole."""
    piece = b"x" * 200_000 + b" timeout" * 50 + b"\ntimeout\n"
    found = ANCHORS.lines(piece)

    assert [(200_401, b"timeout")] == [(f.start, f.line) for f in found]


def test_a_line_of_hits_is_one_line() -> None:
    """A hundred thousand hits in one line are one line, cut at the cap."""
    found = ANCHORS.lines(b"timeout " * 100_000)

    assert [(0, LINE_CAP, [1])] == [(f.start, len(f.line), f.anchors) for f in found]


# What fills the logs of runs that are well, one form after the other.
ORDINARY = (
    "gpu-017:{n}:2290 [{a}] NCCL INFO Channel {b:02d}/0 : {a}[{a}] -> 2[2] via P2P/CUMEM/read",
    "gpu-017:{n}:2290 [{a}] NCCL INFO Channel {b:02d}/0 : {a}[{a}] -> 9[1] [send] via NET/IB/{a}",
    "gpu-017:{n}:2290 [{a}] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
    "gpu-017:{n}:2290 [{a}] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0",
    "gpu-017:{n}:2290 [{a}] NCCL INFO Bootstrap : Using eth0:10.4.0.17<0>",
    "gpu-017:{n}:2290 [{a}] NCCL INFO Setting affinity for GPU {a} to ffff,00000000",
    "gpu-017:{n}:2290 [{a}] NCCL INFO threadThresholds 8/8/64 | 128/8/64 | 512 | 512",
    "gpu-017:{n}:2290 [{a}] NCCL INFO comm 0x7f3c rank {a} nranks 16 cudaDev {a} - Init COMPLETE",
    (
        " iteration {n:8d}/ 500000 | elapsed time per iteration (ms): 3021.4 | lm loss: 1.93E+00 |"
        " loss scale: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    ),
    "step {n} loss: 2.31",
    "    all-grads-sync ................................: (12.31, 15.02)",
    "{{'loss': 2.0491, 'grad_norm': 1.31, 'learning_rate': 0.000196, 'epoch': 0.28}}",
    " 14%|#4        | {n}/2724 [13:55:57<86:19:20, 132.41s/it]",
    "[2026-11-30 02:11:09,120] [INFO] [Rank {a}] time (ms) | fwd: 41.2 | bwd: 83.1 | step: 6.0",
    "Epoch: [0][{n}/5005]  Time 0.451 (0.460)  Data 0.001 (0.012)  Loss 6.9 (6.9)  Acc@1 0.1",
    "  successfully saved checkpoint from iteration {n} to /data/run/checkpoints [ t 1/8 ]",
    "INFO:root:prefetched batch {n} from shard {b:05d}.tar (queue depth {a})",
    "[rank{a}]: WARNING: skipped sample {n}: text of {b} tokens is longer than the context",
    "DEBUG urllib3.connectionpool:{b} https://store:443 GET /bucket/part-{n} HTTP/1.1 200 {n}",
    "evaluating on 500 batches | val loss: 2.404 | perplexity: 11.07",
)


def test_ordinary_lines_hold_hardly_any_anchor_of_a_rule() -> None:
    """Each line that holds one is searched with expressions, and such lines fill whole logs."""
    known = knowledge()
    text = "\n".join(form.format(n=n, a=n % 8, b=n % 32) for n in range(100) for form in ORDINARY)
    piece = text.encode()
    searched = {
        tuple(rule.id for rule in (*plan.rules, *plan.ends, *plan.kernel))
        for _, _, held in known.anchors.hits(piece)
        if (plan := known.plan(held)).searched
    }

    assert set() == searched
