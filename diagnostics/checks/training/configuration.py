"""Whether a run's settings fit the machine that it runs on."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import named
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.configuration import Configuration

# GPUs that have bf16 in hardware, by the letter of their generation: Ampere, Ada, Hopper and
# Blackwell. Volta, Turing and Pascal have not.
NATIVE = ("A", "L", "H", "B", "GB")
# Their NVLink reaches over the nodes of a rack.
RACK_WIDE = ("GB",)


@check(
    "training.configuration",
    stage="training",
    faults=(
        "tensor_parallel_spans_nodes",
        "fp16_where_bf16_is_native",
        "gradient_clipping_off",
    ),
    proved="documented",
)
def configuration(seen: TrainingLogs) -> Iterator[Statement]:
    """Each run has the settings that its GPUs and its nodes are made for.

    Tensor parallelism exchanges data in each layer: inside a node it uses NVLink, between nodes the
    network, and the run is several times slower than it could be. fp16 needs a loss scale that bf16
    does not; without clipping one odd batch can throw a run back. Only what the log itself says is
    judged.
    """
    yield from unread(seen)
    told = False
    for log in seen.logs:
        settings = log.curve.settings
        told = told or settings != Configuration()
        yield from _judge(log, settings)
    if told:
        yield Well("; ".join(_words(log.curve.settings) for log in seen.logs))
    elif seen.logs:
        yield NotApplicable(why="the log does not print what the run was started with")


def _judge(log: LogSeen, settings: Configuration) -> Iterator[Finding]:
    per_node, gpu = settings.ranks_per_node, settings.gpu or ""
    inside = per_node is None or (settings.tensor or 1) <= per_node or gpu.startswith(RACK_WIDE)
    if not inside:
        yield found(
            "tensor_parallel_spans_nodes",
            "warning",
            named(log),
            "{log}: tensor parallelism over {tensor} ranks, of which a node has {per_node}: each "
            "layer crosses the network",
            *_quoted(log, "tensor", "ranks_per_node"),
            log=log.name,
            tensor=settings.tensor,
            per_node=per_node,
        )
    if settings.precision == "fp16" and gpu.startswith(NATIVE):
        yield found(
            "fp16_where_bf16_is_native",
            "info",
            named(log),
            "{log}: fp16 on {gpu}, which has bf16 in hardware and needs no loss scale for it",
            *_quoted(log, "precision", "gpu"),
            log=log.name,
            gpu=gpu,
        )
    if settings.clipping == 0:
        yield found(
            "gradient_clipping_off",
            "info",
            named(log),
            "{log}: gradients are not clipped",
            *_quoted(log, "clipping"),
            log=log.name,
        )


def _quoted(log: LogSeen, *names: str) -> Iterator[Evidence]:
    for name in names:
        if (said := log.curve.settings.lines.get(name)) is not None:
            yield Evidence(source=log.name, line=said[0], text=said[1])


def _words(settings: Configuration) -> str:
    """Return the settings that are known, in one clause."""
    sizes = (
        ("tensor", settings.tensor),
        ("pipeline", settings.pipeline),
        ("data", settings.data),
        ("context", settings.context),
    )
    parallel = ", ".join(f"{name} {size}" for name, size in sizes if size is not None)
    parts = [settings.precision, settings.gpu, f"parallel {parallel}" if parallel else None]
    if settings.clipping is not None:
        parts.append(f"clipping at {settings.clipping:g}")
    if settings.zero_stage is not None:
        parts.append(f"ZeRO stage {settings.zero_stage}")
    return ", ".join(part for part in parts if part) or "settings are printed, none to judge"
