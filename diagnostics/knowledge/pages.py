"""The pages of `explain`: what a fault means, its causes, where to look, what to do or not do."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

import msgspec

from diagnostics import package_data

FOLDER = "diagnostics/knowledge/pages"
FAMILIES = (
    "processes",
    "storage",
    "driver",
    "chassis",
    "network",
    "training",
    "user_code",
    "scheduler",
    "observer",
)

# Where a page begins; parsing all of them for one or two takes longer than to read a short log.
HEAD = re.compile(r"^\[(?P<fault>\w+)\]$", re.MULTILINE)


class PagesError(ValueError):
    """A page that cannot be read; the message names its file, its fault and its key."""


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault as a person reads it.

    `severity` is the usual one, a rule or check may differ; `title` is a clause that follows
    "subject: "; `causes` stand likeliest first; `look` is one command line that only reads; `do`
    starts with the smallest safe step; each entry of `apart` begins with the look-alike's id.
    """

    fault: str
    stage: Literal["processes", "driver", "network", "training"]
    severity: Literal["info", "warning", "critical"]
    title: str
    meaning: str
    causes: tuple[str, ...]
    look: str
    do: tuple[str, ...]
    never: str
    apart: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Pages(Mapping[str, Page]):
    """The pages of some files by fault id; each is parsed when it is asked for.

    *texts* are the files by name. PagesError where an id stands twice, and where a page that is
    asked for is broken.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._spots: dict[str, tuple[str, str]] = {}
        self._read: dict[str, Page] = {}
        for name, text in texts.items():
            heads = list(HEAD.finditer(text))
            ends = [*(head.start() for head in heads[1:]), len(text)]
            for head, end in zip(heads, ends, strict=False):
                fault = head["fault"]
                if fault in self._spots:
                    raise PagesError(
                        f"{FOLDER}/{name}: [{fault}] stands in another place too; keep one"
                    )
                self._spots[fault] = name, text[head.start() : end]

    def __getitem__(self, fault: str) -> Page:
        """Return the page of one fault; KeyError where it has none."""
        page = self._read.get(fault)
        if page is None:
            page = self._read[fault] = parse(*self._spots[fault])[fault]
        return page

    def __iter__(self) -> Iterator[str]:
        """Yield the ids in the order of the files."""
        return iter(self._spots)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._spots)

    def __contains__(self, fault: object) -> bool:
        """Return whether a fault has a page; it is not read for that."""
        return fault in self._spots


@cache
def load() -> Pages:
    """Return every page by its fault id; PagesError where an id stands twice."""
    names = [f"{family}.toml" for family in FAMILIES]
    return Pages(
        {name: package_data.text("diagnostics.knowledge", f"pages/{name}") for name in names}
    )


def parse(name: str, text: str) -> dict[str, Page]:
    """Parse one TOML text to its pages by fault id; `name` is the file that PagesError names."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PagesError(f"{FOLDER}/{name}: no TOML: {error}; correct the file") from error
    return {fault: _page(name, fault, table) for fault, table in tables.items()}


def _page(name: str, fault: str, table: object) -> Page:
    where = f"{FOLDER}/{name}: [{fault}]"
    if not isinstance(table, dict):
        raise PagesError(f"{where} is no table; put it under a [fault_id]")
    try:
        return msgspec.convert({**table, "fault": fault}, Page)
    except msgspec.ValidationError as error:
        # msgspec names the key itself: "Invalid enum value 'gpu' - at `$.stage`"
        raise PagesError(f"{where} {error}; correct the page") from error


def near(wanted: str, known: Iterable[str]) -> str | None:
    """Return the known id that is spelt most like `wanted`, None when nothing is close."""
    return next(iter(difflib.get_close_matches(wanted, known, n=1, cutoff=0.7)), None)
