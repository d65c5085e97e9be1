"""The catalogues of translations: nothing lacks, nothing is lost, and no sentence breaks one."""

import re
import string
from pathlib import Path

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from deploy.dev.compile_messages import FOLDER
from deploy.dev.messages import DOMAINS, found
from diagnostics.messages.catalogue import Catalogue, load
from diagnostics.messages.template import parsed

ROOT = Path(__file__).parents[3]
# Places that only tell one thing from many in English.
OF_ENGLISH = {"s", "verb", "nodes", "mode"}
ZH = load("zh")


def translated(domain: str) -> dict[str, str]:
    """Return what the file of a domain says, as people edit it."""
    with (ROOT / FOLDER / "zh" / f"{domain}.po").open("rb") as text:
        return {str(one.id): str(one.string) for one in read_po(text) if one.id}


ALL = [
    (domain, english, text) for domain in DOMAINS for english, text in translated(domain).items()
]
FILLED = [(english, text) for _, english, text in ALL if "{" in english and text]


def places(text: str) -> set[str]:
    """Return the names of a template's places."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_that_is_said_lacks_a_translation(domain: str) -> None:
    """Each sentence of checks, rules, incidents, remedies, pages and screen has a Chinese one.

    `make messages` puts a new sentence into its catalogue, where a person then translates it.
    """
    known = translated(domain)
    lacking = sorted({english for _, english in found(domain) if not known.get(english)})

    assert [] == lacking


def test_no_page_is_left_in_english() -> None:
    """Of the texts of all pages of `explain` none waits for its translation."""
    texts = {english for _, english in found("pages")}

    assert (0, True) == (sum(1 for text in texts if not ZH.has(text)), len(texts) > 2000)


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_compiled_is_what_is_written(domain: str, tmp_path: Path) -> None:
    """The compiled catalogue is that of the text; `make messages` compiles it anew."""
    source = ROOT / FOLDER / "zh" / f"{domain}.po"
    fresh = tmp_path / "fresh.mo"
    with source.open("rb") as text, fresh.open("wb") as out:
        write_mo(out, read_po(text))

    assert fresh.read_bytes() == source.with_suffix(".mo").read_bytes()


def test_each_translation_uses_the_values_of_its_sentence() -> None:
    """No value is lost and none is made up, but for those that tell singular from plural."""
    lost = [(e, places(e) - places(t)) for e, t in FILLED if places(e) - places(t) - OF_ENGLISH]
    new = [(e, places(t) - places(e)) for e, t in FILLED if places(t) - places(e)]

    assert ([], []) == (lost, new)


def test_numbers_stay() -> None:
    """A number that stands in a sentence stands in its translation too."""
    number = re.compile(r"(?<![\w.])\d[\d.]*\d(?![\w])")

    def lost(english: str, text: str) -> list[str]:
        return [one for one in number.findall(english) if one not in text.replace(",", "")]

    told = [(english, lost(english, text)) for _, english, text in ALL]

    assert [] == [(english, gone) for english, gone in told if gone]


@given(
    st.sampled_from(FILLED),
    st.lists(st.text(max_size=30) | st.integers() | st.none(), min_size=12, max_size=12),
)
def test_any_values_fill_a_translation(pair: tuple[str, str], values: list[object]) -> None:
    """Whatever values a sentence is filled with, it is told or stays as it is."""
    english, _ = pair
    named = {
        name: f"<{value}>" for name, value in zip(sorted(places(english)), values, strict=False)
    }
    sentence = re.sub(r"\{(\w+)[^}]*\}", lambda hit: named[hit[1]], english)

    assert isinstance(ZH.sentence(sentence), str)


@given(st.text(max_size=300))
def test_foreign_text_never_breaks_a_sentence(text: str) -> None:
    """Whatever text comes, it is told or stays as it is."""
    assert isinstance(ZH.sentence(text), str)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("all 8 GPUs answer, driver 580.105.08", "全部 8 个 GPU 都有应答，驱动 580.105.08"),
        (
            "no answer in time: ipmitool did not end in 10 s",
            "没有及时应答：ipmitool 在 10 s 内没有结束",
        ),
        ("local disks: 2, the slowest took 0.2 ms a request", "本地盘：2，最慢的每个请求用 0.2 ms"),
        ("train.log: gradients are not clipped", "train.log: 梯度没有裁剪"),
    ],
)
def test_a_sentence_is_read_back_into_its_template(english: str, chinese: str) -> None:
    """Sentences that stand in no catalogue with their values are told; text of others stays."""
    assert chinese == ZH.sentence(english)


@pytest.mark.parametrize(
    "text",
    [
        "Connection reset by peer",
        "No space left on device",
        "Name or service not known",
        "cannot open shared object file: No such file or directory",
        "NVRM: Xid (PCI:0000:5d:00): 79, pid=218734, GPU has fallen off the bus.",
        "10 packets transmitted, 0 received, 100% packet loss, time 6002ms",
        "unspecified launch failure",
        "Failed to initialize NVML: Driver/library version mismatch",
        "mlx5_core 0000:39:00.0: Port module event: module 0, Cable unplugged",
        "CUDA-capable device(s) is/are busy or unavailable",
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)",
    ],
)
def test_text_of_others_stays(text: str) -> None:
    """What the kernel, a library or a program wrote is quoted letter by letter."""
    assert text == ZH.sentence(text)


def test_a_finding_is_told_by_its_arguments() -> None:
    """The template is the one that the arguments fill; what stands around it is told as well."""
    args = {"who": "rank 3", "op": "ALLREDUCE", "timeout_ms": 600000}
    message = "rank 3: ALLREDUCE did not end within 600000 ms (and 2 more)"

    assert "rank 3: ALLREDUCE 在 600000 ms 内没有结束（另有 2 个）" == ZH.finding(message, args)


def test_what_is_not_translated_stays_english() -> None:
    """A catalogue that holds nothing tells every sentence in English."""
    nothing = Catalogue("zh", {"hello": ""})

    assert ("hello", "2 of 3") == (
        nothing.word("hello"),
        nothing.say("{a} of {b}", {"a": 2, "b": 3}),
    )


def test_a_catalogue_that_was_not_compiled_is_named() -> None:
    """Where a compiled file is not there, its domain is said to be missing."""
    assert ("absent",) == load("zh", ["absent"]).missing


@given(st.sampled_from([english for english, _ in FILLED]), st.data())
def test_a_template_reads_what_it_wrote(english: str, data: st.DataObject) -> None:
    """One of the readings of a filled template fills it to the same sentence again."""
    template = parsed(english)
    word = st.text(st.characters(categories=["Ll", "Nd"]), min_size=1, max_size=8)
    values = {name: data.draw(word) for name in template.names}
    parts = [
        literal + values.get(name, "")
        for literal, name in zip(template.literals, (*template.names, ""), strict=True)
    ]
    sentence = "".join(parts)

    def again(found: dict[str, str]) -> str:
        ends = (*(found[name] for name in template.names), "")
        return "".join(a + b for a, b in zip(template.literals, ends, strict=True))

    assert {sentence} == {again(found) for found in template.read(sentence)}
