"""Which ranks are behind in a process group, and which of them wait for nobody else."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from collectors.jobs.flight_recorder import Call, Dump, Group

# Below this share of a group's dumps, who wrote none says nothing.
MOST_SILENT = 0.5


class Behind(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that others of one group wait for.

    `at` is the operation that it has not done, `entered` whether it called it at all; the others
    are at `others_at`. `silent` is a rank that wrote no dump while all others wait.
    """

    rank: int
    group: str
    desc: str
    at: int
    others_at: int
    op: str
    entered: bool
    waiting: tuple[int, ...]
    silent: bool = False
    since_ns: int | None = None
    job: str | None = None


class Differs(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks of one group that called different things as the same operation."""

    group: str
    desc: str
    sequence: int
    calls: Mapping[str, tuple[int, ...]]
    job: str | None = None


# How far a rank came in a group: the first operation that it has not seen the end of, and whether
# it called it.
Place = tuple[int, bool]


def behind(dumps: Sequence[Dump]) -> list[Behind]:
    """Return who is behind and waits for nobody that is behind elsewhere, by rank."""
    found: dict[tuple[str | None, int], Behind] = {}
    waiting: set[tuple[str | None, int]] = set()
    for members in _groups(dumps):
        for one in _in_group(members):
            waiting.update((one.job, rank) for rank in one.waiting)
            best = found.get((one.job, one.rank))
            if best is None or len(one.waiting) > len(best.waiting):
                found[one.job, one.rank] = one
    roots = [one for key, one in found.items() if key not in waiting]
    return sorted(roots, key=lambda one: (one.job or "", one.rank))


def differing(dumps: Sequence[Dump]) -> list[Differs]:
    """Return the first operation of each group that its ranks called by other names or sizes."""
    found = []
    for members in _groups(dumps):
        by_sequence: dict[int, dict[str, list[int]]] = {}
        for dump, group in members:
            for call in group.calls:
                ranks = by_sequence.setdefault(call.sequence, {}).setdefault(called(call), [])
                ranks.append(dump.rank)
        odd = [n for n, calls in by_sequence.items() if len(calls) > 1]
        if odd:
            first = min(odd)
            calls = {name: tuple(sorted(set(r))) for name, r in by_sequence[first].items()}
            dump, group = members[0]
            told = Differs(group=group.name, desc=group.desc, sequence=first, calls=calls)
            found.append(msgspec.structs.replace(told, job=dump.job))
    return sorted(found, key=lambda one: (one.group, one.sequence))


def called(call: Call) -> str:
    """Return what was called; a scatter or a broadcast differs in size from rank to rank."""
    same_sizes = any(word in call.op for word in ("all_reduce", "allreduce", "barrier"))
    return f"{call.op} of {call.sizes}" if same_sizes and call.sizes else call.op


def _groups(dumps: Iterable[Dump]) -> list[list[tuple[Dump, Group]]]:
    """Return the members of each group that have dumps; names count from anew in each job."""
    groups: dict[tuple[str | None, str, tuple[int, ...]], list[tuple[Dump, Group]]] = {}
    for dump in dumps:
        for group in dump.groups:
            key = (dump.job, group.name, group.ranks)
            groups.setdefault(key, []).append((dump, group))
    return [groups[key] for key in sorted(groups, key=str)]


def _in_group(members: Sequence[tuple[Dump, Group]]) -> list[Behind]:
    places = {dump.rank: place for dump, group in members if (place := _place(group))}
    ends = any(group.pending is not None for _, group in members)
    if not places or not (ends or all(not group.ends_known for _, group in members)):
        return []
    silent = set(members[0][1].ranks) - {dump.rank for dump, _ in members}
    lowest, highest = min(places.values()), max(places.values())
    late = sorted(rank for rank, place in places.items() if place == lowest)
    if lowest == highest:
        # All that told wait alike: for one that told nothing.
        few = 0 < len(silent) <= MOST_SILENT * len(places)
        return _named(members, sorted(silent), places, silent=True) if few and lowest[1] else []
    # Where most have not seen the end of what they called, the others were only told sooner.
    if lowest[1] and len(late) > len(places) / 2:
        return []
    return _named(members, late, places)


def _place(group: Group) -> Place | None:
    if group.pending is not None:
        return group.pending, True
    return None if group.last is None else (group.last + 1, False)


def _named(
    members: Sequence[tuple[Dump, Group]],
    late: Sequence[int],
    places: Mapping[int, Place],
    *,
    silent: bool = False,
) -> list[Behind]:
    others = {rank: place for rank, place in places.items() if rank not in late}
    others_at = max(place[0] for place in others.values())
    at = others_at if silent else min(places.values())[0]
    call = _call(members, at, set(others))
    group = members[0][1]
    return [
        Behind(
            rank=rank,
            group=group.name,
            desc=group.desc,
            at=at,
            others_at=others_at,
            op=call.op if call else "",
            entered=not silent and places[rank][1],
            waiting=tuple(sorted(others)),
            silent=silent,
            since_ns=call.created_ns if call else None,
            job=members[0][0].job,
        )
        for rank in late
    ]


def _call(members: Sequence[tuple[Dump, Group]], at: int, ranks: set[int]) -> Call | None:
    """Return the operation as one of the others called it, else as anybody did."""
    calls = [
        (dump.rank not in ranks, call.created_ns or 0, call)
        for dump, group in members
        for call in group.calls
        if call.sequence == at
    ]
    return min(calls, key=lambda one: one[:2])[2] if calls else None
