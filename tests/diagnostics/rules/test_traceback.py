"""Tracebacks: the exception that ends one, and the innermost frame of the program's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.traceback import HEAD, Frame, Raised, Tracebacks

KNOWLEDGE = knowledge()
OWN = '  File "/srv/job/train.py", line 88, in step'
LIBRARY = '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 7, in f'
STANDARD = '  File "/usr/lib/python3.11/queue.py", line 180, in get'
LINES = [HEAD, OWN, "    loss = model(batch)", LIBRARY, "    x", STANDARD, "ValueError: no"]
FRONTS = [
    "",
    "[rank3]: ",
    "3: ",
    "[1,3]<stderr>:",
    "(Actor pid=4127, ip=10.4.0.17) ",
    "[default3]:",
]


def read(*lines: str) -> Raised | None:
    """Return what the first line's traceback ends with."""
    piece = "\n".join(lines).encode() + b"\n"
    return Tracebacks().head(piece, 0, 1)


@pytest.mark.parametrize("front", FRONTS)
def test_the_innermost_frame_of_the_program(front: str) -> None:
    """Libraries and the standard library raise for what the program gave them."""
    raised = read(*(front + line for line in LINES))

    assert raised is not None
    assert (7, "ValueError: no", Frame("/srv/job/train.py", 88, "step")) == (
        raised.line.number,
        raised.exception,
        raised.frame,
    )


def test_a_traceback_of_libraries_alone() -> None:
    """Where nothing is the program's own, the innermost frame of all is told."""
    raised = read(HEAD, LIBRARY, STANDARD, "queue.Empty")

    assert raised is not None
    assert "Traceback > /usr/lib/python3.11/queue.py:180 in get > queue.Empty" == raised.told


def test_times_in_front_differ() -> None:
    """A logger that stamps each line writes one traceback, not many."""
    raised = read(*(f"02:11:{n:02} ERROR " + line for n, line in enumerate(LINES)))

    assert raised is not None
    assert "ValueError: no" == raised.exception


def test_another_rank_in_between() -> None:
    """Two ranks that print at once are told apart by their prefixes."""
    mixed = [f"[rank{rank}]: {line}" for line in LINES for rank in (4, 2)]
    piece = "\n".join(mixed).encode() + b"\n"
    second = piece.index(b"[rank2]")
    told = [Tracebacks().head(piece, start, number) for start, number in ((0, 1), (second, 2))]

    assert [(13, 4), (14, 2)] == [(one.line.number, one.line.rank) for one in told if one]


def test_an_exception_that_python_ignores_is_none() -> None:
    """What a destructor raises ends nothing."""
    before = "Exception ignored in: <function Pool.__del__ at 0x7f>"
    piece = "\n".join([before, *LINES]).encode() + b"\n"

    assert Tracebacks().head(piece, len(before) + 1, 2) is None


def seen(data: bytes, cuts: list[int]) -> list[tuple[str, int, int]]:
    """Return rule, line and count of what was found in a log that came in pieces."""
    reading = Reading(KNOWLEDGE, "train.log")
    lines = data.splitlines(keepends=True)
    start = 0
    for cut in [*sorted(cuts), len(lines)]:
        reading.feed(b"".join(lines[start:cut]))
        start = max(start, cut)
    return [(hit.rule, hit.line, hit.count) for hit in reading.seen().hits]


@given(st.lists(st.integers(0, 3_000), max_size=6))
def test_a_traceback_may_be_cut_by_pieces(cuts: list[int]) -> None:
    """However bytes arrive, an exception is found once, on its own line."""
    filler = ["torch step 1"] * 2_400
    data = "\n".join([*filler, *LINES, "", *LINES]).encode() + b"\n"

    assert [("program.exception", 2_407, 2)] == seen(data, cuts)


@given(st.lists(st.sampled_from([*LINES, "", " ", "[rank1]: x", "x\x1b[31m", *FRONTS])))
def test_any_mixture_is_read(lines: list[str]) -> None:
    """Heads without ends, frames without heads: nothing raises."""
    read(*lines)
    seen("\n".join(["torch", *lines]).encode(), [1])
