"""Whether a job is set up here as on its other nodes."""

from collections.abc import Iterator, Sequence

from collectors.jobs.nccl import RankSettings
from collectors.network.elsewhere import Across, Alike
from diagnostics.finding import Evidence, Finding, found
from diagnostics.nccl import words
from diagnostics.nccl.telling import AGREE, BY_RANK, common, shown

# One node alone with other devices against so many that agree.
AGAINST = 3
UNSET = "unset"


def across(job: str, ranks: Sequence[RankSettings], told: Across | None) -> Iterator[Finding]:
    """Yield what the fewer nodes have otherwise than the rest; the rest says nothing of it."""
    for name, groups in (told.differing if told else {}).items():
        alike, value = common(ranks, name)
        mine = next((g for g in groups if g.value == (value and shown(value))), None)
        # Ranks that differ among themselves are told as such; an old word of this node is none.
        if not alike or mine is None or len(groups) < 2:  # noqa: PLR2004 - ours, and another one
            continue
        most = max((group for group in groups if group is not mine), key=lambda one: one.nodes)
        if mine.nodes <= most.nodes and _counts(name, mine, groups):
            yield _differ(job, ranks, name, mine, most)


def _counts(name: str, mine: Alike, groups: Sequence[Alike]) -> bool:
    """Return whether nodes must not differ so: devices are called otherwise on other machines."""
    rest = [group.nodes for group in groups if group is not mine]
    return name in AGREE or (
        name in BY_RANK and mine.nodes == 1 and len(rest) == 1 and rest[0] >= AGAINST
    )


def _differ(
    job: str, ranks: Sequence[RankSettings], name: str, mine: Alike, most: Alike
) -> Finding:
    setting = words.of(ranks, name)
    return found(
        "nccl_settings_differ",
        "warning" if name in AGREE else "info",
        words.subject(job, ranks),
        "nodes of job {job} differ in {name}: {mine} on {few}, this one among them, and {most} on "
        "{many} ({some}); if those are right, for the next start here: {change}",
        words.evidence(ranks, name),
        Evidence(
            source="the job's other nodes, by the aggregator",
            text=f"{_as_set(name, most.value)} on {most.nodes} nodes",
            values={"nodes": most.nodes, "some": list(most.some)},
        ),
        variant="nodes",
        confidence=0.8,
        job=job,
        name=name,
        mine=_as_set(name, mine.value),
        few=mine.nodes,
        most=_as_set(name, most.value),
        many=most.nodes,
        some=words.some(most.some) or "not named",
        change=words.change(name, setting, most.value),
    )


def _as_set(name: str, value: str | None) -> str:
    return f"{name} {UNSET}" if value is None else f"{name}={value}"
