"""Whether ranks waited for each other in vain, and which of them did not come."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from diagnostics.check import check
from diagnostics.checks.training.judging import Said, finding, nothing, stories
from diagnostics.checks.training.silent import silent
from diagnostics.finding import Statement
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "nccl_collective_timeout",
    "nccl_collective_desync",
    "nccl_heartbeat_timeout",
    "rank_missing",
    "nccl_unhandled_system_error",
    "nccl_unhandled_cuda_error",
    "nccl_internal_error",
    "nccl_duplicate_gpu",
    "nccl_version_mismatch",
    "nccl_shm_attach_failed",
    "nccl_debug_setting_left_on",
)
# A time that is known to hours says not when a collective began.
EXACT_S = 14 * 3600.0
SHOWN = 4
# Reports that name who did not come.
ABSENT = frozenset({"collective.desync_behind", "collective.never_joined"})


@check("training.collectives", stage="training", faults=FAULTS, proved="documented")
def collectives(seen: TrainingLogs) -> Iterator[Statement]:
    """No rank waited for others until a watchdog ended it, and all called the same operations.

    The rank that reports a timeout is usually the victim: it waits for one that did not come.
    Sequence numbers are compared inside one process group only.
    """
    groups = [(story, told) for story in stories(seen) for told in story.of(FAULTS)]
    for story, told in groups:
        more, absent = "", []
        if told[0].hit.fault == "nccl_collective_timeout":
            more = _waited(told)
            absent = [said for said in story.said if said.hit.rule in ABSENT]
            yield from silent(story, told)
        yield finding(told, story.severity(told), more, absent)
    if not groups:
        yield nothing(seen, "that ranks waited for each other in vain")


def _waited(told: Sequence[Said]) -> str:
    """Return when the stuck collective began, and who is behind the others of one group."""
    text = _began([said.hit for said in told])
    for group, sequences in sorted(_by_group(told).items()):
        behind = _behind(sequences)
        if behind:
            of = f" of process group {group}" if group else ""
            text += f"; {behind}{of}"
    return f"{text}; who reports it waits for a rank that did not come"


def _began(hits: Sequence[Hit]) -> str:
    """Return when the first of them began: its end less what it ran for."""
    times = [
        hit.first_seen - ran / 1000.0
        for hit in hits
        if hit.first_seen is not None and isinstance(ran := hit.values.get("ran_ms"), int)
    ]
    if not times:
        return ""
    try:
        moment = datetime.fromtimestamp(min(times), tz=UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    exact = all((hit.time_error_s or 0.0) < EXACT_S for hit in hits)
    return f"; it began at {moment:%H:%M:%S}{' UTC' if exact else ' by the clock of the log'}"


def _by_group(told: Sequence[Said]) -> Mapping[str, dict[int, int]]:
    """Return sequence by rank, for each process group."""
    groups: dict[str, dict[int, int]] = {}
    for said in told:
        rank, hit = said.rank, said.hit
        sequence = hit.values.get("sequence")
        if rank is not None and isinstance(sequence, int):
            group = hit.values.get("guid", hit.values.get("group", ""))
            groups.setdefault(str(group), {}).setdefault(rank, sequence)
    return groups


def _behind(sequences: Mapping[int, int]) -> str:
    last = max(sequences.values())
    late = sorted(rank for rank, sequence in sequences.items() if sequence < last)
    if not late or len(late) == len(sequences):
        return ""
    ranks = ", ".join(map(str, late[:SHOWN])) + (", ..." if len(late) > SHOWN else "")
    least = min(sequences.values())
    return f"rank {ranks} is at operation {least} where others are at {last}"
