"""Who is behind in a process group, and who only waits for that one."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import flight_recorder
from collectors.jobs.flight_recorder import Call, Dump, Group, named_rank, read
from diagnostics.series.behind import Behind, behind, differing

CAPTURES = os.environ.get("CAPTURES")


def group(
    name: str,
    ranks: tuple[int, ...],
    pending: int | None,
    last: int | None,
    *,
    op: str = "nccl:all_reduce",
    ends_known: bool = True,
) -> Group:
    """Return one group as a rank sees it, with a call for what is pending."""
    at = last if pending is None else pending
    calls = () if at is None else (Call(sequence=at, op=op, created_ns=7, pending=bool(pending)),)
    return Group(
        name=name, ranks=ranks, pending=pending, last=last, calls=calls, ends_known=ends_known
    )


def dumps(*standing: tuple[int, tuple[Group, ...]]) -> list[Dump]:
    """Return a dump for each rank."""
    return [Dump(rank=rank, source=f"trace_{rank}", groups=groups) for rank, groups in standing]


FOUR = (0, 1, 2, 3)


def test_the_rank_that_did_not_call_it_is_behind() -> None:
    """Three ranks wait in operation 88; rank 2 has called 87 and no more."""
    standing = [(rank, (group("0", FOUR, 88, 88),)) for rank in (0, 1, 3)]
    standing.append((2, (group("0", FOUR, None, 87),)))
    expected = Behind(
        rank=2,
        group="0",
        desc="",
        at=88,
        others_at=88,
        op="nccl:all_reduce",
        entered=False,
        waiting=(0, 1, 3),
        since_ns=7,
    )
    assert [expected] == behind(dumps(*standing))


def test_the_rank_whose_gpu_has_not_done_it_is_behind() -> None:
    """Rank 1 called as much as the others, and has not seen the end of what they are done with."""
    standing = [(rank, (group("0", FOUR, 61, 64),)) for rank in (0, 2, 3)]
    standing.append((1, (group("0", FOUR, 55, 64),)))
    assert [(1, True, 55)] == [(b.rank, b.entered, b.at) for b in behind(dumps(*standing))]


def test_who_waits_for_another_is_no_root() -> None:
    """Rank 1 is behind in the data group as it waits for rank 0 in the tensor group."""
    standing = dumps(
        (0, (group("t", (0, 1), None, 9), group("d0", (0, 2), None, 4))),
        (1, (group("t", (0, 1), 10, 10), group("d1", (1, 3), None, 4))),
        (2, (group("t2", (2, 3), 11, 11), group("d0", (0, 2), 5, 5))),
        (3, (group("t2", (2, 3), 11, 11), group("d1", (1, 3), 5, 5))),
    )
    assert [0] == [one.rank for one in behind(standing)]


def test_all_at_one_place_are_not_behind() -> None:
    """Ranks that stand together are nobody's culprit, and neither are ended operations."""
    waiting = dumps(*((rank, (group("0", FOUR, 12, 13),)) for rank in FOUR))
    done = dumps(*((rank, (group("0", FOUR, None, 12 + rank),)) for rank in FOUR))
    assert ([], []) == (behind(waiting), behind(done))


def test_the_rank_without_a_dump_is_behind_where_all_others_wait() -> None:
    """A rank that was killed, or whose threads stand, writes nothing."""
    standing = dumps(*((rank, (group("0", FOUR, 12, 12),)) for rank in (0, 1, 3)))
    few = dumps((0, (group("0", FOUR, 12, 12),)))
    assert ([(2, True)], []) == ([(b.rank, b.silent) for b in behind(standing)], behind(few))


def test_sequences_are_compared_inside_one_group_only() -> None:
    """Groups of one name and other members are others: each stage of a pipeline has its own."""
    standing = dumps(
        (0, (group("5", (0, 1), 900, 900),)),
        (1, (group("5", (0, 1), 900, 900),)),
        (2, (group("5", (2, 3), 20, 20),)),
        (3, (group("5", (2, 3), 20, 20),)),
    )
    assert [] == behind(standing)


def test_a_backend_without_ends_is_judged_by_what_was_called() -> None:
    """Gloo says of no operation that it ended: the lower count is behind."""
    standing = dumps(
        (0, (group("0", (0, 1), None, 7, ends_known=False),)),
        (1, (group("0", (0, 1), None, 6, ends_known=False),)),
    )
    assert [(1, False, 7)] == [(b.rank, b.entered, b.at) for b in behind(standing)]


def test_different_calls_of_one_number_are_told() -> None:
    """One rank gathers where the others reduce: the programs took different branches."""
    standing = dumps(
        (0, (group("0", FOUR, 31, 31),)),
        (1, (group("0", FOUR, 31, 31, op="nccl:all_gather"),)),
        (2, (group("0", FOUR, 31, 31),)),
    )
    (one,) = differing(standing)
    told = (one.sequence, dict(one.calls))
    assert (31, {"nccl:all_reduce": (0, 2), "nccl:all_gather": (1,)}) == told


@given(
    places=st.lists(
        st.tuples(st.none() | st.integers(1, 5), st.none() | st.integers(1, 5)), max_size=6
    )
)
def test_whoever_is_named_is_lowest(places: list[tuple[int | None, int | None]]) -> None:
    """Nobody is called behind who is as far as everybody else."""
    ranks = tuple(range(len(places)))
    standing = dumps(*((rank, (group("0", ranks, *place),)) for rank, place in enumerate(places)))
    named = behind(standing)
    assert all(one.at <= one.others_at and one.rank not in one.waiting for one in named)


@pytest.mark.skipif(CAPTURES is None, reason="CAPTURES=DIR names no folder of captured dumps")
@pytest.mark.parametrize(
    ("folder", "injected"), [("gpu_error_1st", [12, 14]), ("lock_gil_1st", [9, 14])]
)
def test_captured_dumps_name_the_injected_ranks(folder: str, injected: list[int]) -> None:
    """Of 16 ranks whose job was made to hang, the two that were told to fail are named."""
    files = sorted(Path(str(CAPTURES), "flight-recorder", folder).glob("_dump_*"))
    read_ = [
        read(named_rank(file.name) or 0, file.name, flight_recorder.summary(file.read_bytes()))
        for file in files
    ]
    found = behind([dump for dump in read_ if isinstance(dump, Dump)])
    assert (16, injected) == (len(read_), [one.rank for one in found])
