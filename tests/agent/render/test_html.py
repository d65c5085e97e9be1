"""The page of a log: whole, alone, and without a word that a browser would act on."""

import base64
import hashlib
import math
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.errors import Mistake
from agent.cli.html_file import write
from agent.cli.log_files import diagnose
from agent.render.html import page
from agent.render.scale import curves
from agent.render.svg import COLUMNS, figure
from tests.agent.render.test_plot import document

LOGS = Path(__file__).parents[2] / "logs"
HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"'&\x1b[31m\u202e"
EMPTY = frozenset({"meta", "line", "path", "circle", "polyline"})


class Elements(HTMLParser):
    """Takes the elements of a page, and those that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a beginning."""
        self.seen.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that ends itself."""
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Take an end; it must be that of what was opened last."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def elements(text: str) -> Elements:
    """Return what a page is made of."""
    parser = Elements()
    parser.feed(text)
    parser.close()
    return parser


def of(name: str) -> str:
    """Return the page of a log of the fixtures."""
    return page(diagnose([str(LOGS / f"{name}.log")]))


@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.log")))
def test_each_page_is_whole_and_alone(name: str) -> None:
    """Every element is closed, none is a script, and nothing is fetched from anywhere."""
    parsed = elements(of(name))
    names = {tag for tag, _ in parsed.seen}
    outside = [a for _, a in parsed.seen if a.keys() & {"src", "href", "style", "onload"}]

    assert ([], []) == (parsed.wrong, parsed.open)
    assert not names & {"script", "img", "iframe", "link", "object", "form"}
    assert [] == outside


def test_the_policy_allows_its_own_style_alone() -> None:
    """The hash in the policy is that of the style as it stands in the page."""
    text = of("megatron-healthy")
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = dict(elements(text).seen[3][1])["content"]

    assert (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        == policy
    )


def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    """Markup, quotes, escapes and turned text in a log line and its name do nothing."""
    log = tmp_path / "<b>&amp;.log"
    log.write_text(f"step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss nan {HOSTILE}\n")
    text = page(diagnose([str(log)]))

    assert "script" not in {tag for tag, _ in elements(text).seen}
    assert "&lt;script&gt;" in text
    assert [] == re.findall("[\x1b\u202e]", text)


def test_marks_bear_the_numbers_of_the_evidence() -> None:
    """The line of the first NaN is evidence 1, and 1 stands on each curve that reaches it."""
    text = of("megatron-nan")

    assert text.count('class="number fault"') == text.count("<figure>")
    assert "<li>evidence 1</li>" in text


def test_the_verdict_comes_first() -> None:
    """The heading is the sentence of the verdict; a well log has no incident."""
    text = of("megatron-healthy")

    assert "<h1>nothing wrong was found.</h1>" in text
    assert "No incident." in text


@given(st.lists(st.floats(), min_size=2, max_size=60).filter(lambda v: any(map(math.isfinite, v))))
def test_any_curve_is_a_figure(values: list[float]) -> None:
    """Whatever the numbers are, all coordinates lie in the drawing."""
    for curve in curves(document(values).jobs[0]):
        numbers = re.findall(r'(?:cx|cy|x1|y1|y2)="([^"]+)"', figure(curve, ()))
        assert [] == [n for n in numbers if not 0 <= float(n) <= 720]


def test_a_long_curve_is_drawn_by_its_columns() -> None:
    """Of 40,000 points no more are drawn than there are columns, and the one peak is among them."""
    values = [1.0] * 40_000
    values[31_234] = 9.0
    (curve,) = curves(document(values).jobs[0])
    points = re.findall(r'points="([^"]+)"', figure(curve, ()))[0].split()

    assert len(points) <= 2 * COLUMNS
    assert 1 == sum(point.endswith(",22.0") for point in points)


def test_the_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """It is put in place at once, for its owner and group; a folder that is not there is told."""
    made = tmp_path / "page.html"
    write(document([2.0, 1.0]), str(made))

    assert 0o640 == stat.S_IMODE(made.stat().st_mode)
    assert [made] == list(tmp_path.iterdir())
    with pytest.raises(Mistake, match=r"cannot write .*: no such file or directory"):
        write(document([2.0, 1.0]), str(tmp_path / "none" / "page.html"))
