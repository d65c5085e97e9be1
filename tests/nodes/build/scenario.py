"""What NVML says of a node, as a scenario of the simulator: only what differs from the model."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.nodes.build.gpus import Gpu

MIB = 1 << 20

# Keys as in docs/how-to-simulate-gpus.md, tables within tables joined by a dot.
Says = Mapping[str, object]


@dataclass(frozen=True)
class Step:
    """What changes `at_s` seconds after the recording's start: of GPUs by index."""

    at_s: float
    gpus: Mapping[int, Says]


@dataclass(frozen=True)
class Nvml:
    """What is said of all GPUs (`every`) and of the library's own functions (`calls`)."""

    every: Says = field(default_factory=dict)
    calls: Says = field(default_factory=dict)
    steps: tuple[Step, ...] = ()


def text(gpus: Sequence[Gpu], driver: str, nvml: Nvml) -> str:
    """Return the scenario's file."""
    models = {gpu.model for gpu in gpus}
    head = {"model": models.pop(), "count": len(gpus), "driver": driver}
    parts = [_lines(head), _table('gpu."*"', nvml.every), _table("call", nvml.calls)]
    for gpu in gpus:
        parts += [_table(f"gpu.{gpu.index}", _said(gpu)), *_processes(gpu)]
    for step in nvml.steps:
        parts.append(["[[step]]", f"at_s = {step.at_s:g}"])
        parts += [_table(f"step.gpu.{index}", says) for index, says in step.gpus.items()]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _said(gpu: Gpu) -> Says:
    # NVML writes the bus address with eight digits of the domain, in capitals.
    domain, rest = gpu.pci.split(":", 1)
    own: dict[str, object] = {"pci": f"{domain:0>8}:{rest}".upper(), "uuid": gpu.uuid}
    if gpu.serial is not None:
        own["serial"] = gpu.serial
    own |= {"memory.used_bytes": gpu.used_mib * MIB, "utilization": gpu.use}
    return {**own, **gpu.says}


def _processes(gpu: Gpu) -> Iterator[list[str]]:
    for pid, mib in gpu.computes:
        entry = {"pid": pid, "used_bytes": mib * MIB}
        yield [f"[[gpu.{gpu.index}.process]]", *_lines(entry)]


def _table(name: str, says: Says) -> list[str]:
    return [f"[{name}]", *_lines(says)] if says else []


def _lines(says: Says) -> list[str]:
    # What JSON writes for text, numbers, lists and truth is TOML as well.
    return [f"{key} = {json.dumps(value)}" for key, value in says.items()]
