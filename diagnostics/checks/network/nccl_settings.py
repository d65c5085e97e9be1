"""Whether a job runs with settings that were meant for a search, or whose ranks do not agree."""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.gpu.bus import PciGpus
from collectors.jobs.nccl import ENVIRONMENT, NcclSettings, RankSettings
from collectors.network.elsewhere import JobsElsewhere
from collectors.network.ports import Ports
from diagnostics.check import check
from diagnostics.checks.network.nccl_nodes import across
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)
from diagnostics.nccl import words
from diagnostics.nccl.leftovers import LEFTOVERS, Leftover
from diagnostics.nccl.telling import AGREE, BY_RANK
from diagnostics.nccl.transport import transport

PEER_ACCESS = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
AGAINST = 3
UNSET = "unset"


@check(
    "network.nccl_settings",
    stage="network",
    faults=("nccl_debug_setting_left_on", "nccl_settings_differ"),
    proved="documented",
)
def nccl_settings(
    seen: NcclSettings,
    ports: Ports | Missing,
    gpus: PciGpus | Missing,
    elsewhere: JobsElsewhere | Missing,
) -> Iterator[Statement]:
    """No rank runs with a setting that was meant for a search, and all ranks agree.

    Such settings stay behind in launch scripts, images and /etc/nccl.conf, and take the fast path
    from every later job without a word. Where ranks differ in them, they wait for each other. Ranks
    on other nodes are compared where the agents tell the aggregator; else this node's alone.
    """
    if not seen.ranks:
        yield NotApplicable(why="no rank of a job runs here")
        return
    if seen.unread is not None:
        yield Unseen(missing=seen.unread)
    quiet = 0
    for job, ranks in seen.jobs().items():
        known = None if isinstance(elsewhere, Missing) else elsewhere.jobs.get(job)
        told = [
            *_left_on(job, ranks, ports, gpus),
            *_differing(job, ranks),
            *across(job, ranks, known),
        ]
        yield from told
        quiet += not told
    if quiet and seen.unread is None:
        count = len(seen.ranks)
        yield Well(message=f"{count} ranks run without debugging settings, and agree")


def _left_on(
    job: str, ranks: Sequence[RankSettings], ports: Ports | Missing, gpus: PciGpus | Missing
) -> Iterator[Finding]:
    for one in LEFTOVERS:
        having = [r for r in ranks if (s := r.settings.get(one.name)) and one.is_on(s.value)]
        if having and _costs(one, ranks, ports):
            yield _told(one, job, ranks, having, _severity(one, gpus))


def _costs(one: Leftover, ranks: Sequence[RankSettings], ports: Ports | Missing) -> bool:
    if one.when == "between_gpus":
        return len(ranks) > 1
    if one.when == "between_nodes":
        listed = () if isinstance(ports, Missing) else ports.ports
        own = transport(ranks[0].values(), listed) != "plugin"
        return own and any(port.active for port in listed) and words.spans_nodes(ranks)
    return True


def _severity(one: Leftover, gpus: PciGpus | Missing) -> Severity:
    """Return how bad it is: desktop cards have no NVLink, and many no peer access at all."""
    desktop = not isinstance(gpus, Missing) and gpus.gpus and all(g.display for g in gpus.gpus)
    return "info" if one.name in PEER_ACCESS and desktop else one.severity


def _told(
    one: Leftover,
    job: str,
    ranks: Sequence[RankSettings],
    having: Sequence[RankSettings],
    severity: Severity,
) -> Finding:
    setting = having[0].settings[one.name]
    return found(
        "nccl_debug_setting_left_on",
        severity,
        words.subject(job, having),
        "{who} of job {job} run with {name}={value}: {cost}; for the next start: {change}",
        words.evidence(having, one.name),
        variant=one.name.lower(),
        confidence=0.8,
        who=f"{len(having)} of {len(ranks)} ranks" if len(having) < len(ranks) else "all ranks",
        job=job,
        name=one.name,
        value=setting.value,
        cost=one.cost,
        change=words.change(one.name, setting, one.instead),
    )


def _differing(job: str, ranks: Sequence[RankSettings]) -> Iterator[Finding]:
    for name in (*AGREE, *BY_RANK):
        groups: dict[str, list[RankSettings]] = {}
        for rank in ranks:
            setting = rank.settings.get(name)
            groups.setdefault(setting.value if setting else UNSET, []).append(rank)
        by_size = sorted(groups.items(), key=lambda item: (len(item[1]), item[0]))
        odd_one = len(groups) == 2 and len(by_size[0][1]) == 1 and len(by_size[1][1]) >= AGAINST  # noqa: PLR2004 - one against the rest
        if odd_one or (len(groups) > 1 and name in AGREE):
            yield _differ(job, name, dict(by_size), ranks)


def _differ(
    job: str, name: str, groups: dict[str, list[RankSettings]], ranks: Sequence[RankSettings]
) -> Finding:
    usual = list(groups)[-1]
    few = next(iter(groups.values()))
    said = "; ".join(
        f"{_as_set(name, value)} on {_ranks(group)}" for value, group in groups.items()
    )
    return found(
        "nccl_settings_differ",
        "warning",
        words.subject(job, few),
        "ranks of job {job} differ in {name}: {said}; for the next start on all: {change}",
        Evidence(
            source=f"/proc/{few[0].pid}/environ",
            text=_as_set(name, next(iter(groups))),
            values={str(rank.rank): _value(rank, name) for rank in ranks},
        ),
        confidence=0.8,
        job=job,
        name=name,
        said=said,
        change=f"unset {name}" if usual == UNSET else f"export {name}={usual}",
    )


def _value(rank: RankSettings, name: str) -> str:
    setting = rank.settings.get(name)
    if setting is None:
        return UNSET
    return setting.value if setting.source == ENVIRONMENT else f"{setting.value} ({setting.source})"


def _as_set(name: str, value: str) -> str:
    return f"{name} {UNSET}" if value == UNSET else f"{name}={value}"


def _ranks(ranks: Sequence[RankSettings]) -> str:
    numbers = [str(rank.rank) for rank in ranks if rank.rank is not None]
    if len(ranks) == 1 and numbers:
        return f"rank {numbers[0]}"
    return f"{len(ranks)} ranks"
