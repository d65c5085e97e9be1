"""An English template taken apart, so that a sentence made of it can be read back."""

import itertools
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

# A template of fewer letters says too little to be recognised by them.
LEAST_LETTERS = 2
# Where what stands behind a sentence begins, and how many such places are tried.
CLAUSE = re.compile(r"(?=[,;:] | \(| by | and )")
MOST = 6


class Template(msgspec.Struct, frozen=True):
    """`literals` stand around the places of `names`: one more of them than there are names.

    `letters` says how many letters are its own, `longest` is the literal that a sentence made of
    it most likely lacks otherwise.
    """

    text: str
    literals: tuple[str, ...]
    names: tuple[str, ...]
    letters: int
    longest: str

    @property
    def told(self) -> bool:
        """Return whether a sentence can be recognised by it."""
        return not self.names or self.letters >= LEAST_LETTERS

    def filled(self, args: Mapping[str, Any]) -> str | None:
        """Return it with its places filled, None where one of them is not given."""
        try:
            return self.text.format_map(args)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            return None

    def read(self, sentence: str) -> Iterator[dict[str, str]]:
        """Yield the ways in which the places can be filled so that they make *sentence*.

        Each place takes as little as it can; two that stand beside each other are told apart where
        a clause begins.
        """
        if sentence.startswith(self.literals[0]):
            yield from self._rest(sentence, len(self.literals[0]), 0)

    def _rest(self, sentence: str, at: int, number: int) -> Iterator[dict[str, str]]:
        if number == len(self.names):
            if at == len(sentence):
                yield {}
            return
        name, literal = self.names[number], self.literals[number + 1]
        for end in self._ends(sentence, at, literal, last=number + 1 == len(self.names)):
            for rest in self._rest(sentence, end + len(literal), number + 1):
                yield {name: sentence[at:end], **rest}

    def _ends(self, sentence: str, at: int, literal: str, *, last: bool) -> Iterable[int]:
        if last:
            end = len(sentence) - len(literal)
            return (end,) if end >= at and sentence.endswith(literal) else ()
        if literal:
            end = sentence.find(literal, at)
            return () if end < 0 else (end,)
        clauses = (hit.start() for hit in itertools.islice(CLAUSE.finditer(sentence, at), MOST))
        return (*clauses, len(sentence))


def parsed(text: str) -> Template:
    """Return the template of a text with places such as {count:,}; ValueError where it is none."""
    literals, names = [""], []
    for literal, name in _parts(text):
        literals[-1] += literal
        if name is not None:
            names.append(name)
            literals.append("")
    letters = sum(c.isalpha() for literal in literals for c in literal)
    return Template(
        text=text,
        literals=tuple(literals),
        names=tuple(names),
        letters=letters,
        longest=max(literals, key=len),
    )


def _parts(text: str) -> Iterator[tuple[str, str | None]]:
    for literal, name, _, _ in string.Formatter().parse(text):
        yield literal, name
