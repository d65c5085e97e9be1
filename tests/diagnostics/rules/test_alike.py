"""Lines that differ in digits that tell nothing: the same is found as line by line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import every, knowledge
from diagnostics.rules import prefix
from diagnostics.rules.alike import QUIET, Shapes
from diagnostics.rules.digits import asked
from diagnostics.rules.knowledge import Knowledge, Plan
from diagnostics.rules.reading import Reading
from diagnostics.rules.search import Counting, Place, Search

FRONTS = (
    "",
    "[rank3]: ",
    "[2026-11-30 02:11:09,120] [INFO] [Rank 11] ",
    "7: ",
    "gpu-017:2211:2290 [4] NCCL INFO ",
    "é[rank3]: ",
    "[1,3]<stderr>:",
    "rank=0 ",
)
TEXTS = tuple(text for rule in every() for text in rule.example if "\n" not in text)
# What makes the log a training log, and what leaves it any other.
HEAD = b"[rank0]: torch step: 12 loss: 2.31\n" * 2_000
OTHER = b"2026-11-30 02:11:09 app[71]: served a request\n" * 2_000
TABLE = (
    "GPU 00000000:4E:00.0",
    "    ECC Errors",
    "        Volatile",
    "            DRAM Uncorrectable                : 2",
    "| Warning                   | GPU 3 Thermal violations totaling 7.2 second  |",
    "|                           | s for GPU 3                                    |",
    "Capacity:",
    "  nvidia.com/gpu:     8",
    "Allocatable:",
    "  nvidia.com/gpu:     7",
    "[12345.678901] NVRM: Xid (PCI:0000:4e:00): 79, pid=1, name=x, GPU has fallen off the bus.",
    "<4>[12345.678901] NVRM: Xid (PCI:0000:4e:00): 79, pid=1, name=x, GPU has fallen off the bus.",
    "<14>[12345.678901] RuntimeError: CUDA error: out of memory",
    "    Volatile RuntimeError : CUDA error: out of memory",
)
MUTATED = st.tuples(
    st.sampled_from(FRONTS), st.sampled_from(TEXTS), st.lists(st.integers(0, 9), min_size=12)
)


def mutated(front: str, text: str, digits: list[int]) -> bytes:
    """Return a line of some shape with other digits."""
    turn = iter(digits * 200)
    return re.sub(r"[0-9]", lambda _: str(next(turn)), front + text).encode()


def read(lines: list[bytes], *, dense: bool, head: bytes = HEAD) -> str:
    """Return what is seen; nan differs from itself, so that texts are compared."""
    log = Reading(knowledge(), "train.log")
    log.feed(head)
    for start in range(0, len(lines), 60):
        log._dense = dense
        log.feed(b"".join(line + b"\n" for line in lines[start : start + 60]))
    return repr(log.seen())


@given(
    st.lists(MUTATED, max_size=8),
    st.integers(0, 99),
    st.sampled_from((1, 8)),
    st.sampled_from((1, 24)),
)
def test_shapes_or_lines_make_no_difference(
    forms: list[tuple[str, str, list[int]]], n: int, many: int, new: int
) -> None:
    """Every hit with its rank and name, first and last line and count: all the same."""
    lines = [
        mutated(front, text, [(d + turn * (n + at)) % 10 for at, d in enumerate(digits)])
        for turn in range(6)
        for front, text, digits in forms
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diagnostics.rules.tally.MANY", many)
        patch.setattr("diagnostics.rules.learning.MOST_NEW", new)
        by_shape = read(lines, dense=True)

    assert read(lines, dense=False) == by_shape


@given(
    st.lists(st.tuples(MUTATED, st.sampled_from(("", *TABLE))), max_size=8),
    st.integers(0, 99),
    st.sampled_from((HEAD, OTHER)),
)
def test_in_no_log_do_shapes_or_lines_make_a_difference(
    forms: list[tuple[tuple[str, str, list[int]], str]], n: int, head: bytes
) -> None:
    """What is over, what stands above, whose line it is: all as where it is read line by line."""
    lines: list[bytes] = []
    for turn in range(6):
        for (front, text, digits), row in forms:
            lines += [row.encode()] * bool(row)
            turned = [(d + turn * (n + at)) % 10 for at, d in enumerate(digits)]
            lines += [mutated(front, text, turned)] * (1 + turn % 2)

    assert read(lines, dense=False, head=head) == read(lines, dense=True, head=head)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"rank (?P<rank2>\d{1,6})\b", set()),
        (r"[0-9A-F]{2}:[\d.]{1,9} \(x\)", set()),
        (r"\[Errno 28\] No", {"[errno 00] no"}),
        (r"mlx5_core (?:4|x1?)", {"mlx0_core ", "0"}),
        (r"code: [1-9]", {"code: 0"}),
        (r"code [1-9]{2}", {"0"}),
        (r"\.[0-7] O(?:ff|n )", {".0 o"}),
        (r"x\d4", {"0"}),
        (r"(?P<a>\d)(?P=a)", None),
        (r"(\d)\1", None),
        (r"\x31", None),
    ],
)
def test_which_digits_an_expression_asks_for(expression: str, expected: set[str] | None) -> None:
    """Those that stand in it, with the letters that surely stand beside them."""
    assert expected == asked(expression)


def test_who_wrote_a_line_is_read_the_same_whatever_its_digits_are() -> None:
    """Shapes rely on it."""
    forms = [form.pattern for form in vars(prefix).values() if isinstance(form, re.Pattern)]

    assert [] == [form for form in forms if asked(form) != frozenset()]


def test_out_of_memory_is_searched_once_a_shape_and_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four thousand lines, all different, of four ranks those of two pieces are searched."""
    asked: list[int] = []
    line = Search.line

    def counted(
        search: Search, place: Place, plan: Plan, known: Knowledge
    ) -> tuple[Counting, ...] | None:
        asked.append(place.number)
        return line(search, place, plan, known)

    monkeypatch.setattr(Search, "line", counted)
    log = Reading(knowledge(), "train.log")
    log.feed(HEAD)
    log._dense = True
    form = b"[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 GiB.\n"
    for start in range(1_000, 5_000, 1_000):
        log.feed(b"".join(form % (n % 4, n) for n in range(start, start + 1_000)))
    found = [(hit.rank, hit.count) for hit in log.seen().hits if hit.rule == "cuda.out_of_memory"]

    assert (True, [(rank, 1_000) for rank in range(4)]) == (len(asked) <= 2_000, found)


def test_shapes_are_bounded() -> None:
    """Lines that are never alike take no more room than so many."""
    shapes = Shapes((), most=10)
    plan = knowledge().plan(0)
    for n in range(100):
        shapes.add(0, plan, b"x" * n, ())

    assert 10 >= sum(shapes.get(b"x" * n) is not None for n in range(100))


def test_a_shape_that_can_hold_an_anchor_is_never_quiet() -> None:
    """With other digits the line holds it."""
    shapes = Shapes(("EXT4-fs error",))
    plan = knowledge().plan(0)
    shapes.add(0, plan, b"ext2-fs error (device sda)", ())
    shapes.add(0, plan, b"step 12", ())
    found = [shapes.get(key) for key in (b"ext0-fs error (device sda)", b"step 00")]

    assert [False, True] == [shape is QUIET for shape in found]


def test_shapes_share_what_they_know_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 25 shapes with 64 ranks each, 1,600 lines, few more are searched than of one piece."""
    asked: list[int] = []
    line = Search.line

    def counted(
        search: Search, place: Place, plan: Plan, known: Knowledge
    ) -> tuple[Counting, ...] | None:
        asked.append(place.number)
        return line(search, place, plan, known)

    monkeypatch.setattr(Search, "line", counted)
    log = Reading(knowledge(), "train.log")
    log.feed(HEAD)
    log._dense = True
    form = b"[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.%d GiB.\n"
    for shape in range(25):
        sizes = 10 ** (shape % 5), 10 ** (shape // 5)
        log.feed(b"".join(form % (10 + rank, *sizes) for rank in range(64)))
        log._dense = True
    found = {hit.rank: hit.count for hit in log.seen().hits if hit.rule == "cuda.out_of_memory"}

    assert (True, {10 + rank: 25 for rank in range(64)}) == (len(asked) < 200, found)
