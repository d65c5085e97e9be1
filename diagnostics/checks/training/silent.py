"""Which rank is silent where all others report that they waited."""

from collections.abc import Iterator, Sequence

from collectors.facts.subject import Subject
from diagnostics.checks.training.given import evidence, heard
from diagnostics.checks.training.judging import Said, Story
from diagnostics.finding import Finding, found

# Fewer reporters say nothing of who is not among them,
REPORTERS = 2
# and of more silent ones than this share the log was rather cut, or not all write to it.
SILENT = 8
# A group of all ranks, by its number and by its name.
WHOLE = frozenset({"", "0", "default_pg"})
# Reports that say by themselves who is behind or did not come.
NAMING = frozenset({"collective.desync_behind", "collective.never_joined"})


def silent(story: Story, told: Sequence[Said]) -> Iterator[Finding]:
    """Yield the ranks that did not report the timeout *told*, where nearly all others did.

    A rank that is stuck outside of NCCL, or whose process has ended, has no operation that could
    time out. It may also just have been ended before it wrote: the finding is no proof.
    """
    named = any(said.hit.rule in NAMING for said in story.said) or story.has_a_cause()
    reporters = {said.rank for said in told if said.rank is not None and _whole(said)}
    world = max((log.curve.settings.world or 0 for log in story.logs), default=0)
    known = world > max(reporters, default=0)
    expected = range(world if known else max(reporters, default=-1) + 1)
    absent = [rank for rank in expected if rank not in reporters]
    few = 0 < len(absent) <= max(len(expected) // SILENT, 1)
    if named or len(reporters) < REPORTERS or not few:
        return
    everyone = frozenset[int]().union(*(heard(log) for log in story.logs))
    for rank in absent:
        wrote = "it wrote earlier" if rank in everyone else "no line of it is known"
        yield found(
            "rank_missing",
            "critical",
            Subject(kind="rank", name=str(rank), rank=rank, job=told[0].log.job),
            "rank {rank} is silent: {reporters} of {ranks} ranks report that they waited in vain, "
            "and it does not; {wrote}",
            *evidence(told[0].log, [told[0].hit]),
            variant="silent",
            confidence=0.6 if known else 0.4,
            rank=rank,
            reporters=len(reporters),
            ranks=len(expected),
            wrote=wrote,
        )


def _whole(said: Said) -> bool:
    """Return whether the group that timed out is that of all ranks, as far as it is said."""
    values = said.hit.values
    group = str(values.get("group", ""))
    return group in WHOLE or "default_pg" in str(values.get("guid", ""))
