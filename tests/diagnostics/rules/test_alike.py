"""Lines that differ in digits that tell nothing: the same is found as line by line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import every, knowledge
from diagnostics.rules import prefix, reading
from diagnostics.rules.alike import Key, Shapes, blind
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.reading import Reading
from diagnostics.rules.search import Counting

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
# What makes the log a training log.
HEAD = b"[rank0]: torch step: 12 loss: 2.31\n" * 2_000
MUTATED = st.tuples(
    st.sampled_from(FRONTS), st.sampled_from(TEXTS), st.lists(st.integers(0, 9), min_size=12)
)


def mutated(front: str, text: str, digits: list[int]) -> bytes:
    """Return a line of some shape with other digits."""
    turn = iter(digits * 200)
    return re.sub(r"[0-9]", lambda _: str(next(turn)), front + text).encode()


def read(lines: list[bytes], few: int) -> str:
    """Return what is seen; nan differs from itself, so that texts are compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "FEW", few)
        log = Reading(knowledge(), "train.log")
        log.feed(HEAD)
        for start in range(0, len(lines), 60):
            log.feed(b"".join(line + b"\n" for line in lines[start : start + 60]))
        return repr(log.seen())


@given(st.lists(MUTATED, max_size=8), st.integers(0, 99))
def test_shapes_or_lines_make_no_difference(
    forms: list[tuple[str, str, list[int]]], n: int
) -> None:
    """Every hit with its rank and name, first and last line and count: all the same."""
    lines = [
        mutated(front, text, [(d + turn * (n + at)) % 10 for at, d in enumerate(digits)])
        for turn in range(6)
        for front, text, digits in forms
    ]

    assert read(lines, 1 << 30) == read(lines, 0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"rank (?P<rank>\d{1,6})\b", True),
        (r"[0-9A-F]{2}:[\d.]{1,9} \(x\)", True),
        (r"Xid 79", False),
        (r"[1-9]", False),
        (r"(?P<a>\d)(?P=a)", False),
        (r"(\d)\1", False),
        (r"\x31", False),
    ],
)
def test_what_is_blind_to_digits(expression: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Where an expression asks for one digit or another, or for the same twice, it is not."""
    assert expected == blind(expression)


def test_who_wrote_a_line_is_read_the_same_whatever_its_digits_are() -> None:
    """Shapes rely on it."""
    forms = [form.pattern for form in vars(prefix).values() if isinstance(form, re.Pattern)]

    assert [] == [form for form in forms if not blind(form)]


def test_out_of_memory_is_searched_once_a_shape_and_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand lines, all different, of four ranks: four of them go through the search."""
    added: list[bytes] = []
    add = Shapes.add

    def counted(
        shapes: Shapes, key: Key, plan: Plan, line: bytes, of: tuple[Counting, ...]
    ) -> None:
        added.append(line)
        add(shapes, key, plan, line, of)

    monkeypatch.setattr(Shapes, "add", counted)
    log = Reading(knowledge(), "train.log")
    log.feed(HEAD)
    form = b"[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 GiB.\n"
    log.feed(b"".join(form % (n % 4, n) for n in range(1_000, 2_000)))

    expected = (4, [(rank, 250) for rank in range(4)])
    assert expected == (len(added), [(hit.rank, hit.count) for hit in log.seen().hits])


def test_shapes_are_bounded() -> None:
    """Lines that are never alike take no more room than so many."""
    shapes = Shapes(most=10)
    plan = knowledge().plan(0)
    for n in range(100):
        shapes.add((0, b"x" * n), plan, b"line", ())

    assert 10 >= sum(shapes.get((0, b"x" * n)) is not None for n in range(100))
