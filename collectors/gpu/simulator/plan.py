"""A scenario with its model's values filled in, as plain data: what the library answers from.

A state is one flat table for the system and one for each GPU (`temperature.gpu_c`: 29); a key that
is absent is not supported. The first state holds from 0 s, each later one from its `at_s`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from collectors.gpu.simulator import models
from collectors.gpu.simulator.gpu_table import Gpu
from collectors.gpu.simulator.scenario import Event, Scenario
from collectors.gpu.simulator.tables import Table

Flat = dict[str, Any]


def plan(scenario: Scenario, origin_s: float | None = None) -> dict[str, Any]:
    """Return JSON for `library.install`; reads the model's file, so not on a running loop.

    *origin_s* is the CLOCK_MONOTONIC moment of 0 s; without it time starts when the library is
    installed, so give it where a helper may be replaced in the middle.
    """
    gpus = [_start(scenario, index) for index in range(scenario.gpus)]
    calls = _table(scenario.call)
    states = [_state(0.0, gpus, calls)]
    for step in scenario.step:
        gpus = [_laid(gpu, index, step.gpu) for index, gpu in enumerate(gpus)]
        calls = _merged(calls, _table(step.call))
        states.append(_state(step.at_s, gpus, calls))
    return {
        "origin_s": origin_s,
        "system": _system(scenario),
        "states": states,
        "events": [_event(event) for event in sorted(scenario.event, key=lambda one: one.at_s)],
    }


def _system(scenario: Scenario) -> Flat:
    model = models.model(scenario.model)
    cuda = scenario.cuda or model.cuda
    driver = scenario.driver or model.driver
    named = scenario.missing_symbols
    old = models.driver(named) if isinstance(named, str) else None
    return {
        "count": scenario.gpus,
        "driver": driver,
        "nvml": scenario.nvml or f"{cuda // 1000}.{driver}",
        "cuda": cuda,
        "missing": old.missing if old else list(named),
        "highest_field": old.highest_field if old else None,
        "quirks": list(scenario.quirks),
    }


def _start(scenario: Scenario, index: int) -> Flat:
    """Return one GPU's tables at 0 s: ours, the model's, its position's, `"*"`, its own."""
    model = models.model(scenario.model)
    ours = {
        "minor": index,
        "uuid": f"GPU-5b1e{index:04x}-7c2d-4f6a-9e03-{0x2A6D4C000000 + index:012x}",
        "serial": f"1322{index:09d}",
        "pci": f"00000001:{0x10 + index:02X}:00.0",
        "module_id": index + 1,
        "numa": 0,
        "peer_access": 0,
        "gsp": {"version": scenario.driver or model.driver},
    }
    position = [_table(model.gpu[index])] if index < len(model.gpu) else _neighbour(model)
    gpu = ours
    for layer in (_table(model.defaults), *position):
        gpu = _merged(gpu, layer)
    return _laid(gpu, index, scenario.gpu)


def _neighbour(model: models.Model) -> list[Flat]:
    """Return the first position's values for one beyond the model's last, less what is its own."""
    first = _table(model.gpu[0]) if model.gpu else {}
    return [{key: value for key, value in first.items() if key not in {"pci", "module_id"}}]


def _laid(gpu: Flat, index: int, overlays: Mapping[str, Gpu]) -> Flat:
    for key in ("*", str(index)):
        if key in overlays:
            gpu = _merged(gpu, _table(overlays[key]))
    return gpu


def _table(part: Table | Mapping[str, Table]) -> Flat:
    if isinstance(part, Table):
        return part.model_dump(exclude_unset=True)
    return {name: table.model_dump(exclude_unset=True) for name, table in part.items()}


def _merged(under: Flat, over: Flat) -> Flat:
    """Lay *over* on *under*, table by table; a list replaces a list."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merged(old, value)
        else:
            merged[key] = value
    return merged


def _state(at_s: float, gpus: Iterable[Flat], calls: Mapping[str, Any]) -> dict[str, Any]:
    flat = [_gpu(gpu) for gpu in gpus]
    names = {f"process.{pid}": name for gpu in flat for pid, name in gpu.pop("names")}
    return {"at_s": at_s, "system": {**_flat({"call": calls}), **names}, "gpus": flat}


def _gpu(gpu: Flat) -> Flat:
    """Return one GPU's flat table; processes become rows of numbers, None what is not told."""
    processes = gpu.get("process", [])
    flat = _flat({key: value for key, value in gpu.items() if key != "process"})
    for kind, graphics in (("compute", False), ("graphics", True)):
        flat[f"process.{kind}"] = [
            _row(process) for process in processes if process.get("graphics", False) is graphics
        ]
    flat["names"] = [(one["pid"], one["name"]) for one in processes if one.get("name")]
    return flat


def _row(process: Mapping[str, Any]) -> list[int | None]:
    whole = 0xFFFF_FFFF
    return [
        process["pid"],
        process.get("used_bytes"),
        process.get("gpu_instance", whole),
        process.get("compute_instance", whole),
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> Flat:
    flat: Flat = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif value is not None:
            flat[f"{prefix}{key}"] = int(value) if isinstance(value, bool) else value
    return flat


def _event(event: Event) -> dict[str, Any]:
    data = event.data if event.xid is None else event.xid
    return {"at_s": event.at_s, "gpu": event.gpu, "type": event.type, "data": data}
