"""How a setting and the ranks that have it are told, and the line that changes it."""

from collections.abc import Iterable, Sequence

from collectors.facts.subject import Subject
from collectors.jobs.nccl import ENVIRONMENT, RankSettings, Setting
from diagnostics.finding import Evidence

MOST = 8


def subject(job: str, ranks: Sequence[RankSettings]) -> Subject:
    """Return the job as what a finding is about; one without a scheduler goes by its pid."""
    named = job if job.isdecimal() else None
    numbers = tuple(sorted(rank.rank for rank in ranks if rank.rank is not None))
    return Subject(kind="job", name=job, job=named, ranks=numbers or None)


def spans_nodes(ranks: Sequence[RankSettings]) -> bool:
    """Return whether the job has ranks on other nodes."""
    return any(rank.world is not None and rank.world > len(ranks) for rank in ranks)


def of(ranks: Iterable[RankSettings], name: str) -> Setting | None:
    """Return the setting of the first rank that has it."""
    return next((rank.settings[name] for rank in ranks if name in rank.settings), None)


def evidence(ranks: Sequence[RankSettings], *names: str) -> Evidence:
    """Return where the settings stand, with their values; the first rank speaks for those alike."""
    found = {name: one for name in names if (one := of(ranks, name))}
    sources = dict.fromkeys(one.source for one in found.values())
    where = [f"/proc/{ranks[0].pid}/environ" if s == ENVIRONMENT else s for s in sources]
    text = "\n".join(f"{name}={one.value}" for name, one in found.items())
    return Evidence(
        source=", ".join(where) or f"/proc/{ranks[0].pid}/environ",
        text=text or f"{names[0]} is not set",
        values={"ranks": [rank.rank for rank in ranks]},
    )


def change(name: str, setting: Setting | None, value: str | None) -> str:
    """Return the line for the next start: `unset NAME`, or what to set, and where."""
    if setting is None or setting.source == ENVIRONMENT:
        return f"unset {name}" if value is None else f"export {name}={value}"
    if value is None:
        return f"take {name}={setting.value} out of {setting.source}"
    return f"write {name}={value} into {setting.source}"


def some(names: Sequence[str]) -> str:
    """Return names as a list that stays short."""
    rest = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {rest} more" if rest > 0 else "")
