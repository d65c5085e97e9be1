"""What a run was started with, as frameworks print it: precision, clipping, sizes, timeouts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from diagnostics.expression import Expression
from diagnostics.series.forms.number import read

# What finds the lines, for the one pass over a log; matched in any case of letters.
ANCHORS = (
    r"model_parallel_size",
    r"model-parallel-size",
    r"model-parallel size:",
    r"parallel_size \.\.",
    r"clip_grad \.\.",
    r"clip-grad",
    r"fp16 \.\.",
    r"bf16 \.\.",
    r"fp16_enabled",
    r"bfloat16_enabled",
    r"gradient_clipping",
    r"zero_optimization_stage",
    r"max_grad_norm",
    r"fp16=",
    r"bf16=",
    r"nproc_per_node",
    r"nproc-per-node",
    r"distributed_timeout_minutes",
    r"ddp_timeout",
    r"world_size \.\.",
    r"world size: ",
    r"gpus_per_node",
    r"nvidia a100",
    r"nvidia h100",
    r"nvidia h200",
    r"nvidia b200",
    r"nvidia gb",
    r"tesla v100",
    r" nranks ",
    r"world_size=",
    r"world_size: ",
    r"slurm_ntasks",
    r"global_rank: ",
    r", global rank: ",
    r"registered\. starting with ",
    r"\"fp16\":",
    r"\"bf16\":",
    r"\"enabled\":",
)

NAME = r"[A-Za-z][A-Za-z0-9_-]{1,40}"
# Megatron:   tensor_model_parallel_size ...................... 8
# DeepSpeed:  [2026-11-30 02:11:09,120] [INFO] [config.py:1003:print]   gradient_clipping .... 1.0
DOTTED = Expression(rf"(?P<name>{NAME}) \.{{2,80}} (?P<value>\S{{1,40}})")
# HF Trainer:  bf16=True,     DeepSpeed's file:  "gradient_clipping": 1.0,
# torchrun's own words:   nproc_per_node   : 8
ASSIGNED = Expression(
    rf"[\"']?(?P<name>{NAME})[\"']?\s{{0,12}}[=:]\s?[\"']?(?P<value>[\w.+-]{{1,40}})"
)
# torchrun --nnodes=2 --nproc_per_node=8 pretrain.py --tensor-model-parallel-size 8 --bf16
FLAG = Expression(rf"--(?P<name>{NAME})(?:[= ](?P<value>[\w.+][\w.+-]{{0,40}}))?(?=\s|$|\\)")
# > using world size: 64, data-parallel size: 8, tensor-model-parallel size: 8, ...
SIZED = Expression(r"(?P<name>world|[a-z-]{2,40}-parallel)[ -]size: (?P<value>\d{1,6})")
# GPU 0: NVIDIA H100 80GB HBM3
GPU = Expression(r"(?i)(?:nvidia|tesla)[ -](?P<value>(?:GB|[ABHLV])\d{2,3})\b")

# How many ranks there are, and which of them says so:
# gpu-017:2211:2290 [3] NCCL INFO comm 0x5581e2 rank 3 nranks 64 cudaDev 3 ... - Init COMPLETE
# Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/64
# ProcessGroupNCCL initialization options: size: 64, global rank: 3, TIMEOUT(ms): 600000,
# All distributed processes registered. Starting with 64 processes
# vLLM: world_size=8 rank=3 local_rank=3 distributed_init_method=tcp://10.4.0.17:24110
RANKS = (
    Expression(r"\brank (?P<rank>\d{1,6}) nranks (?P<world>\d{1,6})\b"),
    Expression(r"GLOBAL_RANK: (?P<rank>\d{1,6}), MEMBER: \d{1,6}/(?P<world>\d{1,6})\b"),
    Expression(r"\bsize: (?P<world>\d{1,6}), global rank: (?P<rank>\d{1,6})\b"),
    Expression(r"registered\. Starting with (?P<world>\d{1,6}) process(?P<rank>)"),
    Expression(r"\bworld_size=(?P<world>\d{1,6}) rank=(?P<rank>\d{1,6})\b"),
)
MOST_RANKS, MOST_WORLDS = 16_384, 64
# DeepSpeed's file, in one line or in several:   "fp16": {"enabled": true, "loss_scale": 0},
OPENED = Expression(r"\"(?P<name>fp16|bf16)\"\s{0,4}:\s{0,4}\{(?P<rest>.{0,200})")
ENABLED = Expression(r"\"enabled\"\s{0,4}:\s{0,4}(?P<value>true|false|True|False)")

# What a name means; names are compared in lower case with underscores.
NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("tensor_model_parallel_size", "tensor_model_parallel", "tensor_parallel_size"), "tensor"
    ),
    **dict.fromkeys(
        ("pipeline_model_parallel_size", "pipeline_model_parallel", "pipeline_parallel_size"),
        "pipeline",
    ),
    **dict.fromkeys(("data_parallel_size", "data_parallel"), "data"),
    **dict.fromkeys(("context_parallel_size", "context_parallel"), "context"),
    **dict.fromkeys(("world_size", "world", "slurm_ntasks"), "world"),
    **dict.fromkeys(("nproc_per_node", "gpus_per_node"), "ranks_per_node"),
    **dict.fromkeys(("clip_grad", "gradient_clipping", "max_grad_norm"), "clipping"),
    **dict.fromkeys(("fp16", "fp16_enabled"), "fp16"),
    **dict.fromkeys(("bf16", "bfloat16_enabled"), "bf16"),
    "zero_optimization_stage": "zero_stage",
    "distributed_timeout_minutes": "timeout_min",
    "ddp_timeout": "timeout_s",
}
WHOLE = frozenset(
    {"tensor", "pipeline", "data", "context", "world", "ranks_per_node", "zero_stage"}
)
YES = frozenset({"true", "yes", "1"})
LARGEST = 10**6


class Configuration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log says of the run's settings, None where it does not; sizes in ranks.

    `clipping` is the gradient norm that is clipped to, 0 where nothing is; `timeout_s` that of
    collectives. `lines` are the lines that said it, by field; `heard` are ranks that told how
    many there are.
    """

    precision: str | None = None
    clipping: float | None = None
    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None
    context: int | None = None
    world: int | None = None
    ranks_per_node: int | None = None
    zero_stage: int | None = None
    timeout_s: float | None = None
    gpu: str | None = None
    lines: Mapping[str, tuple[int, str]] = {}
    heard: tuple[int, ...] = ()


class Settings:
    """Takes the lines of a configuration and keeps what each setting was first said to be."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {}
        self._lines: dict[str, tuple[int, str]] = {}
        self._heard: dict[int, set[int]] = {}
        self._opened: tuple[str, int] | None = None

    def take(self, text: str, line: int) -> None:
        """Take what a line says of the settings that are known here."""
        self._take_ranks(text)
        for name, value in (*_said(text), *self._nested(text, line)):
            # A part of the ranks has a communicator of its own: the largest is the job's.
            larger = name == "world" and value > self._said.get(name, 0)
            if name not in self._said or larger:
                self._said[name] = value
                self._lines[name] = (line, text[:600])

    def _take_ranks(self, text: str) -> None:
        for form in RANKS:
            hit = form.search(text)
            if hit is None or not hit["rank"]:
                continue
            world = int(hit["world"])
            if world in self._heard or len(self._heard) < MOST_WORLDS:
                heard = self._heard.setdefault(world, set())
                if len(heard) < MOST_RANKS:
                    heard.add(int(hit["rank"]))

    def _nested(self, text: str, line: int) -> Iterator[tuple[str, bool]]:
        """Yield fp16 and bf16 where a file has them as blocks with a switch of their own."""
        opened = self._opened
        self._opened = None
        for block in OPENED.finditer(text):
            if switch := ENABLED.search(block["rest"].partition("}")[0]):
                yield block["name"], switch["value"].lower() == "true"
            elif "}" not in block["rest"]:
                self._opened = (block["name"], line)
        if opened and line == opened[1] + 1 and (switch := ENABLED.search(text)):
            yield opened[0], switch["value"].lower() == "true"

    def copy(self) -> "Settings":
        """Return one that can go on without changing this."""
        other = Settings()
        other._said, other._lines = dict(self._said), dict(self._lines)
        other._heard = {world: set(ranks) for world, ranks in self._heard.items()}
        other._opened = self._opened
        return other

    def configuration(self) -> Configuration:
        """Return what was said."""
        said: dict[str, Any] = dict(self._said)
        lines = dict(self._lines)
        half = [name for name in ("bf16", "fp16") if said.pop(name, False) is True]
        if half:
            said["precision"] = half[0]
            lines["precision"] = lines[half[0]]
        minutes = said.pop("timeout_min", None)
        if minutes is not None:
            said.setdefault("timeout_s", minutes * 60)
            lines.setdefault("timeout_s", lines["timeout_min"])
        kept = {name: where for name, where in lines.items() if name in said}
        heard = tuple(sorted(self._heard.get(said.get("world", 0), ())))
        return Configuration(**said, lines=kept, heard=heard)


def _said(text: str) -> Iterator[tuple[str, Any]]:
    if (gpu := GPU.search(text)) is not None:
        yield "gpu", gpu["value"].upper()
    for form in RANKS:
        if (ranks := form.search(text)) is not None:
            yield "world", int(ranks["world"])
            return
    for hit in _hits(text):
        name = NAMES.get(hit["name"].lower().replace("-", "_"))
        value = _value(name, hit["value"]) if name else None
        if name is not None and value is not None:
            yield name, value


def _hits(text: str) -> Iterable[re.Match[str]]:
    for pattern in (SIZED, DOTTED, ASSIGNED, FLAG):
        yield from pattern.finditer(text)


def _value(name: str, text: str | None) -> float | bool | None:
    """Return a setting as what it is; a flag without a value is on."""
    if name in {"fp16", "bf16"}:
        return text is None or text.strip(",").lower() in YES
    number = read((text or "").strip(","))
    if number is None or not 0 <= number <= LARGEST:
        return None
    return int(number) if name in WHOLE else number
