"""Curves in the terminal: values where they belong, what is no number marked, width kept."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.cli.log_files import diagnose
from agent.render.lines import cells, plain
from agent.render.plot import plots
from agent.render.scale import curves
from diagnostics.document import Document

LOGS = Path(__file__).parents[2] / "logs"


def document(values: list[float], name: str = "loss", step: int | None = None) -> Document:
    """Return a document with one run and one curve; a finding is marked at *step*."""
    marks = [] if step is None else [{"fault": "nan_loss", "severity": "critical", "step": step}]
    series = {name: {"every": 1, "step": list(range(1, len(values) + 1)), "value": values}}
    run: dict[str, Any] = {"log": "train.log", "framework": None, "ranks": None, "last_step": None}
    run |= {"settings": {}, "marks": marks, "series": series}
    return Document(
        product="gpudiag",
        node=None,
        boot_id=None,
        started=None,
        seconds=None,
        verdict="ok",
        stages=(),
        findings=(),
        jobs=(run,),
    )


def test_a_falling_loss_falls() -> None:
    """Eight values from 8 to 1 on eight columns of ASCII, the largest at the top left."""
    drawn = plain(plots(document([8.0, 7, 6, 5, 4, 3, 2, 1]), width=33, ascii_only=True))
    rows = drawn.splitlines()[4:10]

    assert ["          8 ", "          1 "] == [rows[0][:12], rows[-1][:12]]
    assert [0, 3, 8, 10, 13, 18] == [len(row[12:]) - len(row[12:].lstrip()) for row in rows]


def test_what_is_no_number_is_marked() -> None:
    """NaN stands in a row of its own, and the finding below it."""
    drawn = plain(
        plots(document([2.0, 1.9, float("nan"), float("inf")], step=3), width=34, ascii_only=True)
    )
    lines = drawn.splitlines()
    bad = next(line for line in lines if "no number" in line)
    found = next(line for line in lines if "found" in line)

    assert bad.index("x") == found.index("^")
    assert 2 == bad.count("x")


def test_sizes_are_drawn_by_powers_of_ten() -> None:
    """A gradient norm from 0.1 to 1,000 has its middle at 10."""
    (curve,) = curves(document([0.1, 10.0, 1000.0], name="grad_norm").jobs[0])

    assert [0.0, 0.5, 1.0] == [round(curve.axis.place(v), 6) for v in (0.1, 10.0, 1000.0)]


@given(
    st.lists(st.floats(), min_size=1, max_size=200),
    st.integers(40, 160),
    st.sampled_from(("ascii", "dots")),
    st.one_of(st.none(), st.integers(-1, 300)),
)
def test_any_curve_fits(values: list[float], width: int, glyphs: str, step: int | None) -> None:
    """Whatever the numbers are, no line is wider than the terminal, and ASCII is ASCII."""
    lines = plots(document(values, step=step), width=width, ascii_only=glyphs == "ascii")
    texts = ["".join(span.text for span in line).rstrip() for line in lines]

    assert [] == [text for text in texts if cells(text) > max(width, 33)]
    assert glyphs == "dots" or "".join(texts).isascii()


def test_a_whole_log_is_drawn() -> None:
    """A log of Megatron's has loss, gradient norm, loss scale and step time."""
    drawn = plain(plots(diagnose([str(LOGS / "megatron-nan.log")]), width=100, ascii_only=False))
    titles = ("loss  ", "gradient norm  ", "loss scale  ", "step time  ")

    assert [] == [title for title in titles if f"\n  {title}" not in drawn]
    assert "^ nan_loss" in drawn


def test_no_numbers_are_said_to_be_none() -> None:
    """A document without curves says so."""
    assert "no numbers to draw" in plain(plots(document([1.0]), width=80, ascii_only=True))
