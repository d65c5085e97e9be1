"""One language's sentences: an English sentence in, the same one in that language out."""

import contextlib
import gettext
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

from diagnostics.messages.template import CLAUSE, MOST, Template, parsed

LANGUAGES = ("en", "zh")
DOMAINS = ("screen", "sentences", "rules", "pages", "codes", "checks")
# What foreign text may be long and is never one of our sentences.
LONGEST = 1500
HEAD = 12
MOST_WAYS = 24
# A template of fewer letters fits by chance: what fills it must be clear.
TELLING = 9
# What is told whole may keep so much of its letters: names and terms of the field.
LEFT = 0.3
MOST_KNOWN = 20_000
MOST_PARTS = 16
LISTS = ("; ", ", ", " and ", " or ")
COLON, NUMBER = ": ", "{count} {things}"
WORD = re.compile(r"(?<![\w./:-])(?!(?:min|ms|pid|uid|ranks?) )(?!min$|ms$)[a-z]{2,}(?![\w./:-])")
JOINS = re.compile(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[\u4e00-\u9fff])")
SPACES = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
# A number of things has a word for their kind behind it in Chinese.
THINGS = re.compile(r"\{(\w+)[^}]*\} [个条块次步行]")
COUNTED = re.compile(r"(\d[\d.,]*) (\D.*)")


class Catalogue:
    """Sentences by their English; what it does not know stays as it is.

    `missing` are the domains that were not compiled.
    """

    def __init__(
        self, language: str, texts: Mapping[str, str], missing: Iterable[str] = ()
    ) -> None:
        self.language = language
        self.missing = tuple(missing)
        self._texts = {english: text for english, text in texts.items() if english and text}
        self._known: dict[str, str | None] = {}
        self._numbers: dict[str, list[str]] = {}

    @cached_property
    def _templates(self) -> list[Template]:
        """Return what has places, the most telling first."""
        made = [parsed(text) for text in self._texts]
        return sorted((one for one in made if one.told), key=lambda one: -one.letters)

    @cached_property
    def _by_head(self) -> dict[str, list[Template]]:
        """Return the templates by how they begin; those that begin with a place under ""."""
        heads: dict[str, list[Template]] = {}
        for one in self._templates:
            heads.setdefault(one.literals[0][:HEAD], []).append(one)
        return heads

    def word(self, english: str) -> str:
        """Return a text without places."""
        return self._texts.get(english, english)

    def has(self, english: str) -> bool:
        """Return whether it has a text or template."""
        return english in self._texts

    def say(self, template: str, args: Mapping[str, Any]) -> str:
        """Return a template filled with *args*, those of them that are sentences in turn too."""
        text = self._texts.get(template, template)
        return spaced(text.format_map({name: self._told(value) for name, value in args.items()}))

    def finding(self, message: str, args: Mapping[str, Any]) -> str:
        """Return the sentence of a finding whose template was filled with *args*.

        What stands before or after the filled template is a sentence of its own.
        """
        best, sentence = None, ""
        for one in self._templates:
            if one.letters < TELLING:
                break
            if one.longest not in message or not all(name in args for name in one.names):
                continue
            if filled := one.filled(args):
                at = message.find(filled)
                if at >= 0 and len(filled) > len(sentence) and _apart(message, at, filled):
                    best, sentence = one, filled
        if best is None:
            return self.sentence(message)
        before, _, after = message.partition(sentence)
        told = self.say(best.text, args)
        return spaced(f"{self._before(before)}{told}{self._piece(after)}")

    def sentence(self, english: str) -> str:
        """Return a sentence that stands in no catalogue with its values: it is read back first."""
        return spaced(self._piece(english))

    def learn(self, english: str, told: str) -> None:
        """Note how a sentence is told, where it was not told by itself alone."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._known[english] = told

    def _piece(self, english: str) -> str:
        told = self._read(english)
        return english if told is None else told

    def _told(self, value: Any) -> Any:  # noqa: ANN401 - whatever a template names
        return self._piece(value) if type(value) is str else value

    def _read(self, english: str) -> str | None:
        if not english or len(english) > LONGEST:
            return None
        if english in self._texts:
            return self._texts[english]
        if english not in self._known:
            ways = [told for told in self._ways(english) if foreign(told) < foreign(english)]
            self._known[english] = min(ways, key=_rest, default=None)
        return self._known[english]

    def _ways(self, english: str) -> Iterator[str]:
        """Yield the ways to tell it; the one that leaves the least in English is the best."""
        yield from self._lists(english)
        heads = [self._by_head.get(english[:size], ()) for size in range(HEAD, -1, -1)]
        near = [one for head in heads for one in head if one.longest in english]
        near.sort(key=lambda one: -one.letters)
        fits = ((one, found) for one in near for found in one.read(english))
        for one, found in itertools.islice(fits, MOST_WAYS):
            clear = one.letters >= TELLING or all(self._is_clear(v) for v in found.values())
            if not clear or not all(found[name][:1].isdigit() for name in self._counted(one)):
                continue
            args = _Plain({name: self._piece(value) for name, value in found.items()})
            with contextlib.suppress(KeyError, ValueError):
                yield self._texts[one.text].format_map(args)
        yield from self._in_parts(english)

    def _lists(self, english: str) -> Iterator[str]:
        """Yield it as a list of what can be told."""
        for mark in LISTS:
            parts = self._parts(english, mark)
            if len(parts) < 2:  # noqa: PLR2004 - it is no list
                continue
            clear = [self._is_clear(part) for part in parts]
            if all(clear) or (mark == "; " and any(clear)):
                yield self.word(mark).join(self._piece(part) for part in parts)

    def _in_parts(self, english: str) -> Iterator[str]:
        """Yield it as `who: what`, as a sentence with a tail, or as a number of things."""
        head, colon, rest = english.partition(COLON)
        if colon and (self._is_clear(head) or self._is_clear(rest)):
            told = self._piece(head)
            mark = COLON if told.isascii() else self.word(COLON)
            yield f"{told}{mark}{self._piece(rest)}"
        for hit in itertools.islice(CLAUSE.finditer(english), MOST):
            front, tail = english[: hit.start()], english[hit.start() :]
            # What others wrote can end like a sentence of ours.
            if self._read(front) and WORD.search(tail) and self._is_clear(tail):
                yield f"{self._piece(front)}{self._piece(tail)}"
        if (counted := COUNTED.fullmatch(english)) and counted[2] in self._texts:
            things = self._texts[counted[2]]
            things = f" {things}" if things[:1].isascii() else things
            yield self.word(NUMBER).format(count=counted[1], things=things)

    def _is_clear(self, english: str) -> bool:
        """Return whether it is a name or number, or can be told whole."""
        if " " not in english or english in self._texts or not WORD.search(english):
            return True
        told = self._read(english)
        return told is not None and _plain(told) <= LEFT * _plain(english)

    def _parts(self, english: str, mark: str) -> list[str]:
        """Return the members of a list; one that holds the list's own mark is told whole."""
        pieces = english.split(mark)
        parts: list[str] = []
        while pieces and len(pieces) <= MOST_PARTS:
            # The whole of them is the sentence that is being read.
            most = len(pieces) if parts else len(pieces) - 1
            sizes = (n for n in range(1, most + 1) if self._told_whole(mark.join(pieces[:n])))
            size = next(sizes, 1)
            parts.append(mark.join(pieces[:size]))
            pieces = pieces[size:]
        return parts

    def _told_whole(self, english: str) -> bool:
        ways = (
            heads for size in range(HEAD, 3, -1) if (heads := self._by_head.get(english[:size]))
        )
        near = (one for heads in ways for one in heads if one.letters >= TELLING)
        return any(self._is_clear(english) for one in near for _ in one.read(english))

    def _counted(self, one: Template) -> list[str]:
        """Return the places that are numbers of things, by the word for things behind them."""
        if one.text not in self._numbers:
            found = THINGS.findall(self._texts[one.text])
            self._numbers[one.text] = [name for name in found if name in one.names]
        return self._numbers[one.text]

    def _before(self, text: str) -> str:
        head, colon, _ = text.partition(COLON)
        told = self._piece(head)
        return told if not colon else told + (COLON if told.isascii() else self.word(COLON))


class _Plain(dict[str, str]):
    """Values that were read back are text already, whatever form their place asks for."""

    def __missing__(self, name: str) -> str:
        return ""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - format asks it for a format of its own
        return _Text(super().get(name, ""))


class _Text(str):
    __slots__ = ()

    def __format__(self, form: str) -> str:
        del form
        return str(self)


def spaced(text: str) -> str:
    """Return a text with a space between Chinese and Latin words, and none between Chinese ones."""
    return text if text.isascii() else SPACES.sub("", JOINS.sub(" ", text))


def _rest(told: str) -> tuple[int, int]:
    """Return what is left in English of a sentence: letters, then marks between clauses."""
    return foreign(told), sum(told.count(mark) for mark in (*LISTS, COLON))


def _plain(text: str) -> int:
    """Return how many letters of a text are in words, and not in names."""
    return sum(map(len, WORD.findall(text)))


def foreign(text: str) -> int:
    """Return how many letters of a text are of the English alphabet."""
    return sum(c.isascii() and c.isalpha() for c in text)


def _apart(message: str, at: int, filled: str) -> bool:
    """Return whether the sentence stands by itself there, and is no part of a longer word."""
    end = at + len(filled)
    return (at == 0 or message[:at].endswith(": ")) and (
        end == len(message) or not message[end].isalnum()
    )


def load(language: str, domains: Iterable[str] = DOMAINS) -> Catalogue:
    """Return the catalogue of a language; what was not compiled is named in `missing`."""
    texts: dict[str, str] = {}
    missing = []
    for domain in domains:
        place = files("diagnostics.messages") / language / f"{domain}.mo"
        try:
            with place.open("rb") as compiled:
                # gettext has no public way to list what it holds.
                texts |= vars(gettext.GNUTranslations(compiled))["_catalog"]
        except FileNotFoundError:
            missing.append(domain)
    return Catalogue(language, texts, missing)
