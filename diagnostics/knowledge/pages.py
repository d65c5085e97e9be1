"""The pages of `explain`: what a fault means, its causes, where to look, what to do or not do."""

import difflib
import tomllib
from collections.abc import Iterable
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


@cache
def load() -> dict[str, Page]:
    """Load every page by its fault id; PagesError when a file is broken or an id stands twice."""
    pages: dict[str, Page] = {}
    for family in FAMILIES:
        name = f"{family}.toml"
        text = package_data.text("diagnostics.knowledge", f"pages/{name}")
        for fault, page in parse(name, text).items():
            if fault in pages:
                raise PagesError(f"{FOLDER}/{name}: [{fault}] stands in another file too; keep one")
            pages[fault] = page
    return pages


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
