"""Pages in Chinese: as wide as asked, whole in Chinese, and English wherever nobody asked."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent.cli.incident import replayed
from agent.render import explain, html, incidents, table
from agent.render.language import SPOKEN, say, speak
from agent.render.lines import cells, plain, wrap
from agent.render.told import told
from diagnostics.document import Document
from diagnostics.knowledge.aliases import codes
from diagnostics.knowledge.pages import load
from diagnostics.messages.catalogue import load as load_catalogue

NODES = Path(__file__).parents[2] / "nodes"
ZH = load_catalogue("zh")
SICK = (
    "h100-gpu-lost",
    "cascade-cable",
    "scratch-full-raid-degraded",
    "nan-loss",
    "unseen-as-user",
)
# Three English words in a row, which no term of the field is.
ENGLISH = re.compile(r"(?:\b(?!gpudiag)[a-z]{2,}\b[ ,]+){2,}[a-z]{2,}")
# Commands stand alone on a line of any length, to be copied.
COMMAND = " " * 7


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    """Speak Chinese in each test here, and English after it."""
    SPOKEN.set(ZH)
    yield
    SPOKEN.set(None)


@pytest.fixture(scope="module", params=SICK)
def document(request: pytest.FixtureRequest) -> Document:
    """The diagnosis of a recorded node."""
    return replayed(str(NODES / request.param))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_asked(document: Document, width: int) -> None:
    """Chinese characters take two cells each: lines keep to the width, columns stand."""
    text = plain(table.draw(document, width=width, ascii_only=False, everything=True))

    wide = [line for line in text.splitlines() if cells(line) > width]

    assert [] == [line for line in wide if not line.startswith(COMMAND) or line[7:8] in " >"]


def test_all_that_is_ours_is_chinese(document: Document) -> None:
    """No sentence of ours is left in English: of findings, checks, incidents and plans."""
    said = told(document)
    texts = [*(f["message"] for f in said.findings), *(i.sentence for i in said.incidents)]
    texts += [check.message for stage in said.stages for check in stage.checks]
    texts += [other.why for one in said.incidents for other in one.rejected]
    texts += [one.would_change for one in said.incidents]
    texts += [text for plan in said.plan for text in (*plan.steps, plan.reason, plan.risk) if text]

    assert [] == [text for text in texts if ENGLISH.search(text)]


def test_the_document_itself_stays(document: Document) -> None:
    """What is told is another document: the JSON of the diagnosis is the same byte for byte."""
    before = document.encode()
    table.draw(document, width=100, ascii_only=False, everything=True)
    html.page(document)

    assert before == document.encode()


def test_data_is_the_same_in_every_language(document: Document) -> None:
    """Ids, severities, evidence, subjects, commands and arguments are not translated."""

    def data(one: Document) -> object:
        findings = [{**finding, "message": ""} for finding in one.findings]
        steps = [step.command for incident in one.incidents for step in incident.next]
        return (
            findings,
            steps,
            one.root_causes,
            one.jobs,
            [c.check for s in one.stages for c in s.checks],
        )

    assert data(document) == data(told(document))


def test_in_english_nothing_is_told_anew(document: Document) -> None:
    """Where English is spoken the document is drawn as it is."""
    speak("en")

    assert told(document) is document


def test_the_story_of_an_incident() -> None:
    """`explain INCIDENT` is Chinese; the ticket's text is English, as whoever repairs reads it."""
    document = replayed(str(NODES / "h100-gpu-lost"))
    text = plain(incidents.story(document, document.incidents[0], 100, ascii_only=False))
    story, _, ticket = text.partition("工单文本")

    assert ("处理步骤" in story, "evidence:" in ticket, "node: gpu-017" in ticket) == (True,) * 3


@pytest.mark.parametrize("name", load())
def test_pages_are_whole_in_chinese(name: str) -> None:
    """Each page is in Chinese, with no note of what is missing, and no wider than asked."""
    text = plain(explain.fault(load()[name], 100))
    wide = [line for line in text.splitlines() if cells(line) > 100]

    assert (False, []) == ("尚未翻译" in text, wide)


def test_codes_are_told_in_chinese() -> None:
    """The page of each Xid and SXid says in Chinese what it means and what differs from it."""
    texts = [plain(explain.code(name, row, 200)) for name, row in codes().items()]
    told = [line for text in texts for line in text.splitlines()[2:] if ENGLISH.search(line)]
    # The groups of register words are names, of one code alone.
    others = [line for line in told if "寄存器字" not in line]

    assert ([], True) == (others, len(texts) > 400)


def test_a_text_without_translation_is_noted() -> None:
    """A page of which a part is there in English only says so."""
    page = msgspec.structs.replace(load()["gpu_lost"], meaning="A sentence that nobody knows.")
    text = plain(explain.fault(page, 100))

    assert ("A sentence that nobody knows." in text, "此页有一部分尚未翻译" in text) == (True, True)


def test_a_page_of_html_names_its_language() -> None:
    """The page says `lang="zh"`, so that a browser chooses glyphs and line breaks of Chinese."""
    document = replayed(str(NODES / "nan-loss"))

    assert html.page(document).splitlines()[1] == '<html lang="zh">'


def test_lines_break_between_characters() -> None:
    """Chinese wraps without spaces; no line begins with a mark that ends a clause."""
    lines = wrap("端口断开（Polling），然而它以前有地址。", 16)

    assert (True, []) == (
        all(cells(line) <= 16 for line in lines),
        [line for line in lines if line[0] in "，。；：、）"],
    )


def test_what_the_renderer_says_takes_values_with_their_form() -> None:
    """A number keeps its form."""
    assert "1,024 次" == say("{count:,} times", count=1024)
