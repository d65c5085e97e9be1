"""What every store keeps to."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from aggregator.api.intake import arrival
from aggregator.store.protocol import Store
from aggregator.store.records import Appended, Arrival
from aggregator.wire import Part, Report
from tests.aggregator.reports import GPU, NOW, lines, report, snapshot


def arrivals(*reports: Report) -> list[Arrival]:
    """Return reports as the intake makes them."""
    return [arrival(memoryview(lines([one])[:-1]), one.node, 10**6) for one in reports]


async def kinds(store: Store, node: str) -> list[str]:
    """Return what was noticed of a node, oldest first."""
    found = await store.node(node, NOW)
    assert found is not None
    return [event.kind for event in reversed(found.events)]


async def test_any_order(store: Store) -> None:
    """Reports sent in any order, some twice, at once from many sides: each is there once."""
    chance = random.Random(11)  # noqa: S311 - chance of a test, repeatable
    given = arrivals(*(snapshot(n) for n in range(60)))
    batches = [chance.sample(given, 20) for _ in range(12)] + [given]
    chance.shuffle(batches)
    answers = await asyncio.gather(*(store.append(batch, NOW) for batch in batches))
    stored = [past.sequence for past in (await store.history("gpu-001", 2**62, 1000)).items]
    assert (60, list(range(60)), 240) == (
        sum(answer.accepted for answer in answers),
        sorted(stored),
        sum(answer.duplicates for answer in answers),
    )


async def test_failure_is_alone(store: Store) -> None:
    """A batch that cannot be kept takes none of those with it that are committed beside it."""
    good = [store.append(arrivals(snapshot(n)), NOW) for n in range(5)]
    bad = store.append([replace(arrivals(snapshot(9))[0], sequence=2**80)], NOW)
    answers = await asyncio.gather(*good[:3], bad, *good[3:], return_exceptions=True)
    kept = await store.history("gpu-001", 2**62, 100)
    assert ([True, True, True, False, True, True], 5) == (
        [isinstance(answer, Appended) for answer in answers],
        len(kept.items),
    )


async def test_reopened(open_store: Callable[[], Store]) -> None:
    """What was acknowledged is there after the store was closed and opened."""
    first = open_store()
    await first.append(arrivals(snapshot(1)), NOW)
    await first.close()
    second = open_store()
    found = await second.node("gpu-001", NOW)
    again = await second.append(arrivals(snapshot(1)), NOW)
    await second.close()
    assert ("fault", 1) == (found and found.record.verdict, again.duplicates)


async def test_renamed(store: Store) -> None:
    """A machine that reports under another name is seen by its serials."""
    await store.append(arrivals(snapshot(1)), NOW)
    await store.append(arrivals(snapshot(1, node="gpu-901", boot_id="b-9")), NOW + 9)
    assert ["renamed"] == await kinds(store, "gpu-901")


async def test_reimaged(store: Store) -> None:
    """A node that was installed anew is seen once, not with every snapshot."""
    await store.append(arrivals(snapshot(1)), NOW)
    for sequence in (2, 3):
        await store.append(arrivals(snapshot(sequence, machine="m-2")), NOW + sequence)
    assert ["reimaged"] == await kinds(store, "gpu-001")


async def test_part_moved(store: Store) -> None:
    """A GPU that was put into another node is followed."""
    own = tuple(Part(kind="fan", serial=f"F{n}", slot=str(n)) for n in range(3))
    gpu = Part(kind="gpu", serial=GPU, slot="1")
    await store.append(arrivals(snapshot(1)), NOW)
    await store.append(arrivals(snapshot(1, node="b", boot_id="c", parts=own)), NOW)
    await store.append(arrivals(snapshot(2, node="b", boot_id="c", parts=(*own, gpu))), NOW + 9)
    assert ["part_moved"] == await kinds(store, "b")


async def test_shared_name(store: Store) -> None:
    """Two machines under one name are seen by their boots, and said once."""
    await store.append(arrivals(snapshot(1)), NOW)
    await store.append(arrivals(snapshot(1, boot_id="b-2")), NOW + 1)
    for sequence in (2, 3):
        late = snapshot(sequence, sent=NOW + 200 + sequence)
        await store.append(arrivals(late), NOW + 200)
    assert ["name_shared"] == await kinds(store, "gpu-001")


async def test_healthy_node(store: Store) -> None:
    """A node that only lives, reboots and drains its spool gives no event."""
    await store.append(arrivals(*(snapshot(n, sent=NOW + n) for n in range(9))), NOW)
    await store.append(arrivals(snapshot(0, boot_id="b-2", sent=NOW + 400)), NOW + 400)
    await store.append(arrivals(snapshot(9, sent=NOW + 90)), NOW + 401)
    assert [] == await kinds(store, "gpu-001")


async def test_old_heartbeat(store: Store) -> None:
    """A heartbeat that is not newer than the newest says nothing, and counts as known."""
    answers = [await store.append(arrivals(report(n)), NOW) for n in (4, 4, 3, 5)]
    assert [1, 0, 0, 1] == [answer.accepted for answer in answers]


async def test_large_history(store: Store) -> None:
    """A page of large reports ends before it is too large, and says that there is more."""
    large = {"findings": [], "text": "x" * 900_000}
    await store.append(arrivals(*(snapshot(n, diagnosis=large) for n in range(9))), NOW)
    page = await store.history("gpu-001", 2**62, 9)
    rest = await store.history("gpu-001", page.items[-1].id, 9)
    assert ([8, 7, 6, 5, 4], True, [3, 2, 1, 0], False) == (
        [past.sequence for past in page.items],
        page.more,
        [past.sequence for past in rest.items],
        rest.more,
    )


async def test_expired(store: Store) -> None:
    """What is older than it is to be kept goes; what is known of its node stays."""
    await store.append(arrivals(snapshot(1)), NOW)
    await store.append(arrivals(snapshot(2)), NOW + 100)
    gone = await store.expire(NOW + 150, 100)
    left = [past.sequence for past in (await store.history("gpu-001", 2**62, 10)).items]
    found: Any = await store.node("gpu-001", NOW)
    assert (1, [2], 2) == (gone, left, len(found.parts))
