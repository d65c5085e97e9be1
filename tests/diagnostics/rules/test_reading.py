"""A whole log in one pass: the right lines by their numbers, whatever else the bytes are."""

from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.logs.pieces import pieces
from diagnostics.rules import kernel, rule
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen

KNOWLEDGE = Knowledge.of((*rule.load(), *kernel.load()))
OOM = b"[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 6 has"
ITERATION = (
    b" iteration %d/ 900 | elapsed time per iteration (ms): 310.2 | lm loss: %s | grad norm: 0.4 |"
)
SYNC = b"    all-grads-sync ................................: (12.31, 15.02)"
FRAGMENTS = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\x1b[31m",
        b"\xff\xfe",
        b"\0",
        b"loss: nan",
        b"loss=inf ",
        b"time (ms) | fwd: 1.0 | bwd: nan | step: ",
        b"1e999",
        OOM,
        ITERATION % (3, b"NAN"),
        ITERATION % (4, b"1e99"),
        SYNC,
    ]
)


def read(blocks: Iterable[bytes]) -> LogSeen:
    """Read a log given as blocks."""
    reading = Reading(KNOWLEDGE, "train.log")
    for piece in pieces(blocks):
        reading.feed(piece)
    return reading.seen()


def hits(data: bytes) -> list[tuple[str, int, int | None]]:
    """Return what was found in a log: rule, line, rank."""
    return [(hit.rule, hit.line, hit.rank) for hit in read([data]).hits]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_are_numbered_as_an_editor_does(end: bytes) -> None:
    """A line ends with LF, CR LF or CR; escapes and junk before it do not move its number."""
    data = end.join([b"start", b"\x1b[32m\xff\0", b"", OOM, b"end", b""])
    seen = read([data])

    assert (("cuda.out_of_memory", 4, 6), 5) == (hits(data)[0], seen.lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"\x1b[36mstep: 12  \x1b[32mloss: \x1b[31mnan\x1b[0m", "training.nan_loss"),
        (b"\xff\xfe loss=nan", "training.nan_loss"),
        (b"a" * 60_000 + b", loss: nan", "training.nan_loss"),
        ("损失 loss: nan".encode(), "training.nan_loss"),
        (b"3: RuntimeError: CUDA error: out of memory", "cuda.error_out_of_memory"),
    ],
)
def test_odd_lines_are_read(line: bytes, expected: str) -> None:
    """Colours between words, bytes that are no text and long lines hide nothing."""
    assert [expected] == [rule for rule, _, _ in hits(line)]


def test_advice_is_no_symptom() -> None:
    """What PyTorch prints below each CUDA error names faults that did not happen."""
    data = (
        b"CUDA kernel errors might be asynchronously reported at some other API call\n"
        b"For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        b"Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        b"Device-side assertions were explicitly omitted for this error check\n"
    )

    assert [] == hits(data)


def test_numbers_and_symptoms_come_from_one_pass() -> None:
    """A log of three steps with their timers and a NaN gives both."""
    lines = [ITERATION % (1, b"7.1"), SYNC, ITERATION % (2, b"6.9"), SYNC, ITERATION % (3, b"NAN")]
    seen = read([b"\n".join(lines) + b"\n"])
    curve = seen.curve

    expected = ([(1, 15.02), (2, 15.02), (3, None)], 3, 1, "training.nan_loss", 5)
    assert expected == (
        [(p.step, p.sync_ms) for p in curve.points],
        curve.count,
        curve.bad,
        seen.hits[0].rule,
        seen.hits[0].line,
    )


@given(st.lists(FRAGMENTS), st.lists(st.integers(0, 400), max_size=8))
def test_how_bytes_arrive_makes_no_difference(parts: list[bytes], sizes: list[int]) -> None:
    """Read at once or in blocks of any size, a log says the same; nothing in it raises."""
    data = b"".join(parts)
    rest, blocks = data, []
    for size in sizes:
        blocks.append(rest[:size])
        rest = rest[size:]

    # nan differs from itself, so texts are compared.
    assert repr(read([data])) == repr(read([*blocks, rest]))


@given(st.binary(max_size=4_000))
@example(b"\x1b=")
def test_any_bytes_are_read(data: bytes) -> None:
    """Junk is counted in lines and says nothing else worth a raise."""
    expected = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    assert (
        len(expected.split(b"\n")) - (expected.endswith(b"\n") or not expected)
        == read([data]).lines
    )


def test_equal_lines_are_one_hit() -> None:
    """Memory does not grow with repeats: one hit, its first and last line, its count."""
    block = (OOM + b"\n") * 10_000
    seen = read(block for _ in range(5))
    (hit,) = seen.hits

    assert (1, 50_000, 50_000) == (hit.line, hit.last_line, hit.count)
