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
DOMAINS = ("screen", "sentences", "rules", "pages")
# A sentence in a sentence in a sentence; deeper is no sentence of ours.
DEEPEST = 4
# What foreign text may be long and is never one of our sentences.
LONGEST = 4000
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
        return text.format_map({name: self._told(value, 1) for name, value in args.items()})

    def finding(self, message: str, args: Mapping[str, Any]) -> str:
        """Return the sentence of a finding whose template was filled with *args*.

        What stands before or after the filled template is a sentence of its own.
        """
        best, sentence = None, ""
        for one in self._templates:
            if one.letters < TELLING or not all(name in args for name in one.names):
                continue
            if filled := one.filled(args):
                at = message.find(filled)
                if at >= 0 and len(filled) > len(sentence) and _apart(message, at, filled):
                    best, sentence = one, filled
        if best is None:
            return self.sentence(message)
        before, _, after = message.partition(sentence)
        told = self.say(best.text, args)
        return f"{self._before(before)}{told}{self._piece(after, 1)}"

    def sentence(self, english: str) -> str:
        """Return a sentence that stands in no catalogue with its values: it is read back first."""
        return self._piece(english, 0)

    def learn(self, english: str, told: str) -> None:
        """Note how a sentence is told, where it was not told by itself alone."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._known[english] = told

    def _piece(self, english: str, depth: int) -> str:
        told = self._read(english, depth)
        return english if told is None else told

    def _told(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - whatever a template names
        return self._piece(value, depth) if type(value) is str else value

    def _read(self, english: str, depth: int) -> str | None:
        if not english or len(english) > LONGEST or depth > DEEPEST:
            return None
        if english in self._texts:
            return self._texts[english]
        if english not in self._known:
            # A sentence that leads back to itself is none.
            self._known[english] = None
            ways = [told for told in self._ways(english, depth) if foreign(told) < foreign(english)]
            self._known[english] = min(ways, key=foreign, default=None)
        return self._known[english]

    def _ways(self, english: str, depth: int) -> Iterator[str]:
        """Yield the ways to tell it; the one that leaves the least in English is the best."""
        heads = [self._by_head.get(english[:size], ()) for size in range(HEAD, -1, -1)]
        near = sorted((one for head in heads for one in head), key=lambda one: -one.letters)
        fits = ((one, found) for one in near for found in one.read(english))
        for one, found in itertools.islice(fits, MOST_WAYS):
            clear = one.letters >= TELLING or all(self._is_clear(v, depth) for v in found.values())
            if not clear or not all(found[name][:1].isdigit() for name in self._counted(one)):
                continue
            args = _Plain({name: self._piece(value, depth + 1) for name, value in found.items()})
            with contextlib.suppress(KeyError, ValueError):
                yield self._texts[one.text].format_map(args)
        yield from self._in_parts(english, depth)

    def _in_parts(self, english: str, depth: int) -> Iterator[str]:
        """Yield it as a list, as `who: what`, with a tail, or as a number of things."""
        for mark in LISTS:
            parts = english.split(mark)
            clear = [self._is_clear(part, depth) for part in parts]
            if 1 < len(parts) <= MOST_PARTS and (all(clear) or (mark == "; " and any(clear))):
                yield self.word(mark).join(self._piece(part, depth + 1) for part in parts)
        head, colon, rest = english.partition(COLON)
        if colon and (self._is_clear(head, depth) or self._is_clear(rest, depth)):
            told = self._piece(head, depth + 1)
            mark = COLON if told.isascii() else self.word(COLON)
            yield f"{told}{mark}{self._piece(rest, depth + 1)}"
        for hit in itertools.islice(CLAUSE.finditer(english), MOST):
            front, tail = english[: hit.start()], english[hit.start() :]
            if front and self._is_clear(tail, depth) and WORD.search(tail):
                yield f"{self._piece(front, depth + 1)}{self._piece(tail, depth + 1)}"
        if (counted := COUNTED.fullmatch(english)) and counted[2] in self._texts:
            things = self._texts[counted[2]]
            things = f" {things}" if things[:1].isascii() else things
            yield self.word(NUMBER).format(count=counted[1], things=things)

    def _is_clear(self, english: str, depth: int) -> bool:
        """Return whether it is a name or number, or can be told whole."""
        if " " not in english or english in self._texts or not WORD.search(english):
            return True
        told = self._read(english, depth + 1)
        return told is not None and foreign(told) <= LEFT * foreign(english)

    def _counted(self, one: Template) -> list[str]:
        """Return the places that are numbers of things, by the word for things behind them."""
        return [name for name in THINGS.findall(self._texts[one.text]) if name in one.names]

    def _before(self, text: str) -> str:
        head, colon, _ = text.partition(COLON)
        told = self._piece(head, 1)
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
