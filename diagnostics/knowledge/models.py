"""The model table: what a product is built with, where nobody says what this node has."""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Annotated

import msgspec

from diagnostics import package_data

FILE = "diagnostics/knowledge/models.toml"
BRANDS = ("nvidia ", "tesla ")

Count = Annotated[int, msgspec.Meta(ge=1)]


class ModelsError(ValueError):
    """A model table that cannot be read; the message names its file and its key."""


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One product; None is "not known". What the keys mean stands above the table itself.

    A `board` product sits on a baseboard with all its NVLinks wired; other products are cards.
    """

    names: tuple[str, ...]
    pcie_generation: Count | None = None
    pcie_width: Count | None = None
    nvlinks: Count | None = None
    memory_mib: Count | None = None
    row_banks: Count | None = None
    board: bool = False
    fabric: bool = False
    switches: Mapping[str, Count] = {}


@cache
def load() -> dict[str, Model]:
    """Return the models by PCI device id (`2330`); ModelsError where the table is broken."""
    return parse(package_data.text("diagnostics.knowledge", "models.toml"))


def parse(text: str) -> dict[str, Model]:
    """Return the models of one TOML text."""
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, Model])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise ModelsError(f"{FILE}: {problem}; correct the table") from problem


def of_device(device: str | None) -> Model | None:
    """Return the model with a PCI device id."""
    return load().get((device or "").lower())


def of_name(name: str | None) -> Model | None:
    """Return the model that the driver calls by this name, whichever brand stands before it."""
    return _by_name().get(_plain(name)) if name else None


@cache
def _by_name() -> dict[str, Model]:
    return {_plain(name): model for model in load().values() for name in model.names}


def _plain(name: str) -> str:
    plain = name.strip().lower()
    for brand in BRANDS:
        plain = plain.removeprefix(brand)
    return plain
