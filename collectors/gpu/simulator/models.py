"""What a model of GPU says when nothing is wrong, and what an old driver's library lacks."""

import tomllib
from functools import cache
from importlib.resources import files

from collectors.gpu.simulator.gpu_table import Gpu
from collectors.gpu.simulator.tables import Table

PACKAGE = "collectors.gpu.simulator"


class Model(Table):
    """One model: `defaults` of all its GPUs, and a row for each position in a node.

    `source` says where the values come from; `driver` and `cuda` are of the same node.
    """

    source: str
    driver: str
    cuda: int
    count: int
    defaults: Gpu
    gpu: list[Gpu]


class Driver(Table):
    """A driver's library: symbols that it does not export, and its highest field id."""

    source: str
    missing: list[str]
    highest_field: int


def names(kind: str) -> list[str]:
    """Return the names of all `models` or `drivers`."""
    found = (file.name for file in (files(PACKAGE) / kind).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


@cache
def model(name: str) -> Model:
    """Return a model that `names("models")` lists."""
    return Model.model_validate(_table("models", name))


@cache
def driver(name: str) -> Driver:
    """Return a driver that `names("drivers")` lists."""
    return Driver.model_validate(_table("drivers", name))


def _table(kind: str, name: str) -> dict[str, object]:
    text = (files(PACKAGE) / kind / f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)
