"""The Prometheus text: made after each walk, so that a scrape costs nothing but its bytes.

Every label takes its values from a list of ours: stages, verdicts, faults, sources, GPU indices.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.daemon.answers import About
from agent.daemon.gpus import GpuRow
from agent.daemon.sampler import Track
from agent.daemon.walker import Walk
from diagnostics.finding import Verdict

VERDICTS: tuple[Verdict, ...] = ("ok", "warning", "fault", "unknown", "not_applicable")

Sample = tuple[Mapping[str, str], float | int | None]


def render(
    about: About,
    walk: Walk | None,
    age_s: float | None,
    tracks: Iterable[Track],
    gpus: Sequence[GpuRow],
) -> bytes:
    """Return the page; what is not known has no line."""
    parts = [*_agent(about), *_walk(walk, age_s), *_sources(tracks), *_gpus(gpus)]
    return "".join(parts).encode()


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    lines = [
        f"gpudiag_{name}{_labels(labels)} {value:.10g}\n"
        for labels, value in samples
        if value is not None
    ]
    if lines:
        yield f"# HELP gpudiag_{name} {text}\n# TYPE gpudiag_{name} {kind}\n"
        yield from lines


def _labels(labels: Mapping[str, str]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    inner = ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _agent(about: About) -> Iterator[str]:
    version = about.product.rpartition(" ")[2]
    yield from _family("build_info", "gauge", "The version that runs.", [({"version": version}, 1)])
    yield from _family(
        "agent_cpu_seconds_total",
        "counter",
        "Processor time of the agent and its helpers.",
        [({}, about.cost.cpu_s)],
    )
    yield from _family(
        "agent_memory_bytes",
        "gauge",
        "PSS of the agent and its helpers.",
        [({}, about.cost.pss_bytes)],
    )
    yield from _family(
        "agent_helpers",
        "gauge",
        "Helper processes that run, and those that stay in the kernel.",
        [({"state": "running"}, about.helpers), ({"state": "left_behind"}, about.left_behind)],
    )
    yield from _family(
        "agent_log_lines_left_out_total",
        "counter",
        "Lines that the log's limit left out.",
        [({}, about.log_left_out)],
    )
    yield from _family(
        "agent_problems", "gauge", "Troubles of the agent's own.", [({}, len(about.problems))]
    )


def _walk(walk: Walk | None, age_s: float | None) -> Iterator[str]:
    if walk is None:
        return
    document = walk.document
    yield from _family(
        "node_verdict",
        "gauge",
        "1 for the verdict of the last walk.",
        [({"verdict": v}, int(v == document.verdict)) for v in VERDICTS[:-1]],
    )
    yield from _family(
        "walk_duration_seconds", "gauge", "How long it took.", [({}, document.seconds)]
    )
    yield from _family(
        "walk_age_seconds", "gauge", "How long ago it ended, when this was made.", [({}, age_s)]
    )
    counts = {s.name: Counter(c.verdict for c in s.checks) for s in document.stages}
    yield from _family(
        "checks",
        "gauge",
        "Checks by stage and verdict.",
        [({"stage": s, "verdict": v}, n[v]) for s, n in counts.items() for v in VERDICTS],
    )
    found = Counter((f["fault"], f["severity"]) for f in document.findings)
    yield from _family(
        "findings",
        "gauge",
        "Findings by fault.",
        [({"fault": f, "severity": s}, n) for (f, s), n in sorted(found.items())],
    )
    yield from _family("incidents", "gauge", "Open incidents.", [({}, len(document.incidents))])


def _sources(tracks: Iterable[Track]) -> Iterator[str]:
    tracks = list(tracks)
    yield from _family(
        "source_failing",
        "gauge",
        "Failures of a source since it last answered.",
        [({"source": track.name}, track.failures) for track in tracks],
    )
    yield from _family(
        "source_failures_total",
        "counter",
        "Failures of a source since start.",
        [({"source": track.name}, track.failed_in_all) for track in tracks],
    )


def _gpus(gpus: Sequence[GpuRow]) -> Iterator[str]:
    def of(value: str, scale: float = 1.0) -> list[Sample]:
        read = [(row.index, getattr(row, value)) for row in gpus]
        return [({"gpu": str(i)}, None if v is None else v * scale) for i, v in read]

    yield from _family("gpu_memory_used_bytes", "gauge", "Memory in use.", of("used_bytes"))
    yield from _family("gpu_memory_bytes", "gauge", "Memory in all.", of("total_bytes"))
    yield from _family(
        "gpu_utilization_ratio", "gauge", "Share of time in use.", of("utilisation_percent", 0.01)
    )
    yield from _family(
        "gpu_temperature_celsius", "gauge", "Temperature of the GPU.", of("temperature_c")
    )
    yield from _family(
        "gpu_margin_celsius", "gauge", "Degrees until it slows down of itself.", of("margin_c")
    )
    yield from _family("gpu_power_watts", "gauge", "Power draw.", of("power_w"))
