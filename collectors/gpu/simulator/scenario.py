"""A scenario as people write it: a model, how many, and what is wrong with which GPU and when."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from collectors.gpu.simulator import models
from collectors.gpu.simulator.gpu_table import Gpu
from collectors.gpu.simulator.symbols import DEVICE, FUNCTIONS, SYSTEM
from collectors.gpu.simulator.tables import Call, Table

XID = 0x8  # nvml.h: nvmlEventTypeXidCriticalError
MOST_GPUS = 64
Index = Annotated[str, Field(pattern=r"^(\*|0|[1-9]\d?)$")]


class ScenarioError(ValueError):
    """A scenario that says nothing we can do; the message names file, table and key."""


class Event(Table):
    """An event: an Xid, or any `type` of nvml.h with its `data`."""

    at_s: float = Field(ge=0)
    gpu: Annotated[int, Field(ge=0)]
    xid: Annotated[int, Field(ge=0)] | None = None
    type: Annotated[int, Field(ge=1)] = XID
    data: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.xid is None) == (self.model_fields_set.isdisjoint({"type", "data"})):
            raise ValueError("give either xid, or type and data")
        return self


class Step(Table):
    """What changes at a moment, laid over all that was said before."""

    at_s: float = Field(gt=0)
    gpu: dict[Index, Gpu] = Field(default_factory=dict)
    call: dict[str, Call] = Field(default_factory=dict)


class Scenario(Table):
    """The whole file.

    `missing_symbols` is the name of an old driver, or functions. `quirks` are layouts that differ
    from the binding's: driver 535.43 to 535.86 wrote longer process entries.
    """

    model: str
    count: Annotated[int, Field(ge=0, le=MOST_GPUS)] | None = None
    driver: str | None = None
    nvml: str | None = None
    cuda: int | None = None
    missing_symbols: str | list[str] = Field(default_factory=list)
    quirks: list[Literal["process-entries-535.43"]] = Field(default_factory=list)
    gpu: dict[Index, Gpu] = Field(default_factory=dict)
    call: dict[str, Call] = Field(default_factory=dict)
    event: list[Event] = Field(default_factory=list)
    step: list[Step] = Field(default_factory=list)

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return models.model(self.model).count if self.count is None else self.count


def read(text: str, path: str) -> Scenario:
    """Return the scenario in *text*; ScenarioError names *path* and the line's table and key."""
    try:
        scenario = Scenario.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{path}: {problem}") from None
    except ValidationError as problem:
        raise ScenarioError(f"{path}: {_wrong(problem)}") from None
    for contradiction in _contradictions(scenario):
        raise ScenarioError(f"{path}: {contradiction}")
    return scenario


def _wrong(problem: ValidationError) -> str:
    first = problem.errors()[0]
    # Where a key may be of two types, pydantic adds the type it tried.
    *table, key = (str(part) for part in first["loc"] if str(part) not in {"str", "list[str]"})
    where = f"[{'.'.join(table)}] " if table else ""
    if first["type"] != "extra_forbidden":
        return f"{where}{key}: {first['msg']}"
    near = difflib.get_close_matches(key, _keys(table), 1, 0.5)
    return f"{where}{key}: unknown key" + (f", do you mean {near[0]}?" if near else "")


def _keys(table: list[str]) -> list[str]:
    """Return the keys that a table of the file can hold."""
    shape: type[Table] | None = Scenario
    for part in table:
        field = shape.model_fields.get(part) if shape else None
        if field is not None:
            shape = _table_in(field.annotation)
    return list(shape.model_fields) if shape else []


def _table_in(annotation: Any) -> type[Table] | None:  # noqa: ANN401 - a type, as typing writes it
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    inner = getattr(annotation, "__args__", ())
    return next((found for part in inner if (found := _table_in(part))), None)


def _contradictions(scenario: Scenario) -> Iterator[str]:
    """Yield what each key alone cannot show: unknown names, GPUs beyond the count, wrong order."""
    known = models.names("models")
    if scenario.model not in known:
        yield f"model: {scenario.model!r:.80} is none of {', '.join(known)}"
        return
    yield from _symbols(scenario)
    yield from _overlays("", scenario, scenario)
    last = 0.0
    for number, step in enumerate(scenario.step):
        if step.at_s <= last:
            yield f"[step.{number}] at_s: {step.at_s:g} is not after {last:g}"
        last = step.at_s
        yield from _overlays(f"step.{number}.", step, scenario)
    for number, event in enumerate(scenario.event):
        if event.gpu >= scenario.gpus:
            yield f"[event.{number}] gpu: {event.gpu} is not below count = {scenario.gpus}"


def _symbols(scenario: Scenario) -> Iterator[str]:
    named = scenario.missing_symbols
    if isinstance(named, str):
        if named not in (known := models.names("drivers")):
            yield f"missing_symbols: {named!r:.80} is none of {', '.join(known)}"
        return
    yield from (f"missing_symbols: {_unknown(name)}" for name in named if name not in FUNCTIONS)


def _overlays(prefix: str, part: Scenario | Step, scenario: Scenario) -> Iterator[str]:
    yield from _calls(f"{prefix}call", part.call, FUNCTIONS)
    for index, gpu in part.gpu.items():
        table = f"{prefix}gpu.{index}"
        if index != "*" and int(index) >= scenario.gpus:
            yield f"[{table}]: there is no GPU {index} with count = {scenario.gpus}"
        yield from _calls(f"{table}.call", gpu.call or {}, DEVICE | {"*"})
        most = _links(scenario, gpu)
        for link in (gpu.nvlink.link if gpu.nvlink else None) or {}:
            if int(link) >= most:
                yield f"[{table}.nvlink.link.{link}]: the GPU has {most} links"


def _links(scenario: Scenario, gpu: Gpu) -> int:
    every = scenario.gpu.get("*")
    for table in (gpu, every, models.model(scenario.model).defaults):
        if table and table.nvlink and table.nvlink.count:
            return table.nvlink.count
    return 0


def _calls(table: str, calls: Mapping[str, Call], known: frozenset[str]) -> Iterator[str]:
    for name in calls:
        if name in SYSTEM and known is not FUNCTIONS:
            yield f"[{table}.{name}]: is of no GPU, write [call.{name}]"
        elif name not in known:
            yield f"[{table}] {_unknown(name)}"


def _unknown(name: str) -> str:
    bare = re.sub(r"_v\d$", "", name)
    same = sorted(f for f in FUNCTIONS if re.sub(r"_v\d$", "", f) == bare)
    near = same or difflib.get_close_matches(name, sorted(FUNCTIONS), 1, 0.75)
    return f"{name}: no function simulated here" + (f", do you mean {near[0]}?" if near else "")
