"""What the spool keeps, what goes first, and what it says of bytes that went bad."""

import errno
import json

from hypothesis import given
from hypothesis import strategies as st

from agent.outbox.folder import Folder
from agent.outbox.store import Limits, Store
from tests.agent.outbox.made import SMALL, Seconds, numbers, opened, report
from tests.agent.outbox.volatile import Volatile

TIGHT = Limits(disk=8000, memory=2000, record=1500, segment=1000)


def told(store: Store) -> list[int]:
    """Return what each unacknowledged report tells of lost ones."""
    rows, _ = store.batch(10_000, 1 << 30)
    return [json.loads(body).get("dropped", 0) for _, body in rows]


def fill(store: Store, kinds: str, filler: int = 300) -> list[int]:
    """Put a change for each `c` and a snapshot for each `s`; return their numbers."""
    for number, kind in enumerate(kinds, start=1):
        store.append(report("change" if kind == "c" else "snapshot", number, filler=filler))
    return list(range(1, len(kinds) + 1))


def files(folder: Folder) -> list[str]:
    """Return the names without the state's."""
    return sorted(name for name in folder.sizes() if not name.startswith("state"))


def test_snapshots_go_first() -> None:
    """A full spool lets go of the oldest snapshots and keeps all changes."""
    store = opened(Volatile(), TIGHT)
    fill(store, "sssscccc" + "sc" * 6)
    left = set(numbers(store))
    changes = {n for n, kind in enumerate("sssscccc" + "sc" * 6, start=1) if kind == "c"}
    snapshots = sorted(left - changes)
    assert (True, [17, 19]) == (changes <= left, snapshots[-2:])


def test_a_snapshot_never_pushes_a_change_out() -> None:
    """Where changes alone fill the spool, a new snapshot is the one that finds no room."""
    store = opened(Volatile(), TIGHT)
    fill(store, "c" * 15)
    before = numbers(store)
    store.append(report("snapshot", 100, filler=1300))
    assert before == numbers(store)


def test_each_lost_report_is_told_of_once() -> None:
    """What was delivered and what reports tell of lost ones add up to all that was put."""
    store = opened(Volatile(), TIGHT)
    fill(store, "c" * 60)
    delivered, dropped = len(numbers(store)), sum(told(store))
    store.acknowledge(60)
    store.append(report(sequence=61))
    assert 61 == delivered + dropped + len(told(store)) + sum(told(store))


def test_the_bound_holds() -> None:
    """However much is put, the folder stays below the bound but for the state."""
    folder = Volatile()
    store = opened(folder, TIGHT)
    fill(store, "cs" * 100)
    sizes = [size for name, size in folder.sizes().items() if not name.startswith("state")]
    assert 0 < sum(sizes) <= TIGHT.disk


def test_an_oversize_record_is_counted() -> None:
    """A record longer than the bound is dropped, and the next one tells of it."""
    store = opened(Volatile(), TIGHT)
    store.append(report(sequence=1, filler=5000))
    store.append(report(sequence=2))
    assert ([2], [1]) == (numbers(store), told(store))


def test_what_cannot_be_written_as_text_is_counted() -> None:
    """A lone surrogate has no UTF-8: the report is dropped and told of, and nothing ends."""
    store = opened(Volatile())
    store.append(report(sequence=1, name="\ud800"))
    store.append(report(sequence=2))
    assert ([2], [1]) == (numbers(store), told(store))


def test_rejected_records_are_counted() -> None:
    """What the aggregator will never accept is told of in the next report."""
    store = opened(Volatile())
    fill(store, "cc", filler=0)
    store.acknowledge(2, rejected=1)
    store.append(report(sequence=3))
    assert [1] == told(store)


def test_counts_outlive_a_restart() -> None:
    """Lost reports that no report told of yet are told of after a restart."""
    folder = Volatile()
    store = opened(folder)
    store.append(report(sequence=1))
    store.acknowledge(1, rejected=1)
    again = opened(folder)
    again.append(report(sequence=2))
    assert [1] == told(again)


def test_batches_are_bounded() -> None:
    """A batch ends before it is too long; a record that is too long by itself comes alone."""
    store = opened(Volatile())
    fill(store, "c" * 5, filler=300)
    rows, more = store.batch(10, 1200)
    alone, _ = store.batch(10, 10)
    assert (2, True, 1) == (len(rows), more, len(alone))


def test_numbers_are_not_given_again() -> None:
    """After a restart numbers go on above the reserved block, though nothing was put."""
    folder = Volatile()
    first = Store(folder, limits=SMALL, monotonic=Seconds()).open(5_000)
    second = Store(folder, limits=SMALL, monotonic=Seconds()).open(0)
    assert second > first + 999


def test_acknowledged_files_are_removed() -> None:
    """What is acknowledged leaves the disk, all but the file that still grows."""
    folder = Volatile()
    store = opened(folder)
    fill(store, "c" * 20)
    store.acknowledge(20)
    assert 1 == len(files(folder))


def test_a_refusing_disk_is_tried_again() -> None:
    """A full disk keeps reports in memory, 30 s later they go to disk, in order, none lost."""
    folder, clock = Volatile(), Seconds()
    store = opened(folder, clock=clock)
    folder.refuse = errno.ENOSPC
    kept = [store.append(report(sequence=n)) for n in (1, 2, 3)]
    problem = store.status().problem
    folder.refuse = None
    early = store.append(report(sequence=4))
    clock.now += 31
    late = store.append(report(sequence=5))
    after = opened(folder)
    assert ([False] * 3, "No space left on device", False, True, [1, 2, 3, 4, 5]) == (
        kept,
        problem,
        early,
        late,
        numbers(after),
    )


def test_a_torn_write_leaves_no_damage() -> None:
    """What a full disk took of a record is cut off again: later it is no damage, and no loss."""
    folder, clock = Volatile(), Seconds()
    store = opened(folder, clock=clock)
    fill(store, "c", filler=10)
    folder.refuse, folder.where = errno.ENOSPC, "short"
    store.append(report(sequence=2))
    folder.refuse = None
    clock.now += 31
    store.append(report(sequence=3))
    again = opened(folder)
    assert ([1, 2, 3], 0, ()) == (numbers(again), again.status().lost, again.status().damaged)


def test_a_file_whose_sync_failed_is_not_trusted() -> None:
    """After a failed sync the kernel holds bytes for written that are not: a new file begins."""
    folder, clock = Volatile(), Seconds()
    store = opened(folder, clock=clock)
    fill(store, "c", filler=10)
    folder.refuse, folder.where = errno.EIO, "sync"
    failed = store.append(report(sequence=2))
    folder.refuse = None
    clock.now += 31
    durable = store.append(report(sequence=3))
    after = opened(folder.crash(lambda _: False))
    assert (False, True, [1, 2, 3]) == (failed, durable, numbers(after))


def test_memory_is_bounded_and_snapshots_go_first() -> None:
    """On a disk that refuses for long, memory holds the changes and counts what it lets go."""
    folder = Volatile()
    store = opened(folder, TIGHT)
    folder.refuse = errno.EROFS
    fill(store, "sssscccc", filler=200)
    status = store.status()
    assert ([4, 5, 6, 7, 8], True, 3) == (numbers(store), status.memory_bytes <= 2000, status.lost)


def test_a_folder_that_cannot_be_listed_is_read_later() -> None:
    """Where even listing fails at first, nothing is written over; it is read when it can be."""

    class Unlisted(Volatile):
        listed = False

        def sizes(self) -> dict[str, int]:
            if not self.listed:
                raise OSError(errno.EIO, "Input/output error")
            return super().sizes()

    folder, clock = Unlisted(), Seconds()
    folder.listed = True
    fill(opened(folder), "ccc")
    folder.listed = False
    store = opened(folder, clock=clock)
    store.append(report(sequence=5000))
    blind = numbers(store)
    folder.listed = True
    clock.now += 31
    store.append(report(sequence=5001))
    assert ([5000], [1, 2, 3, 5000, 5001]) == (blind, numbers(store))


@given(st.data())
def test_any_bad_byte_costs_at_most_its_record(data: st.DataObject) -> None:
    """A changed byte anywhere: all other records come back whole, the loss is counted and named."""
    folder = Volatile()
    written = fill(opened(folder), data.draw(st.text("cs", min_size=1, max_size=8)))
    name = data.draw(st.sampled_from(sorted(folder.names)))
    live = folder.names[name].live
    at = data.draw(st.integers(0, len(live) - 1))
    live[at] ^= data.draw(st.integers(1, 255))
    store = opened(folder)
    found = numbers(store)
    lost = len(written) - len(found)
    status = store.status()
    assert (True, lost, 1) == (lost <= 1, status.lost, len(status.damaged))


@given(st.data())
def test_a_file_cut_anywhere_keeps_what_is_before(data: st.DataObject) -> None:
    """A truncated segment gives its whole records; the torn one is counted."""
    folder = Volatile()
    fill(opened(folder, Limits(segment=100_000)), "cccc")
    live = folder.names["change-00000001.log"].live
    record = len(live) // 4
    size = data.draw(st.integers(0, len(live)))
    del live[size:]
    store = opened(folder)
    whole = list(range(1, size // record + 1))
    assert (whole, int(size % record > 0)) == (numbers(store), store.status().lost)


def test_a_damaged_file_is_set_apart() -> None:
    """Its good records are still sent, it gets a name of its own, and is said once only."""
    folder = Volatile()
    fill(opened(folder), "cc", filler=10)
    folder.names["change-00000001.log"].live[30] ^= 1
    first, second = opened(folder), opened(folder)
    assert (["change-00000001.damaged"], [2], 1, 0) == (
        files(folder),
        numbers(second),
        first.status().lost,
        second.status().lost,
    )


def test_a_file_that_goes_bad_while_it_is_held() -> None:
    """Bytes that go bad under a running agent cost their record and are counted, not sent."""
    folder = Volatile()
    store = opened(folder)
    fill(store, "ccc", filler=10)
    folder.names["change-00000001.log"].live[30] ^= 1
    found = numbers(store)
    store.append(report(sequence=4))
    assert ([2, 3], [0, 0, 1]) == (found, told(store))


def test_a_lost_state_sends_again_and_loses_nothing() -> None:
    """Without a readable state all that is held is sent again; numbers stay above those used."""
    folder = Volatile()
    store = opened(folder)
    fill(store, "cc", filler=10)
    store.acknowledge(1)
    folder.names["state"].live[5] ^= 1
    again = Store(folder, limits=SMALL, monotonic=Seconds())
    first = again.open(0)
    assert ([1, 2], True, ("state",)) == (numbers(again), first > 2, again.status().damaged)
