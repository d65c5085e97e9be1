"""Reports and stores that the tests of the outbox share."""

import json
from dataclasses import dataclass

from agent.outbox.folder import Folder
from agent.outbox.store import Limits, Store
from aggregator.wire import Kind, Report

SMALL = Limits(disk=1 << 20, memory=1 << 16, record=1 << 14, segment=700)
KILLED = Limits(segment=4096)


@dataclass
class Seconds:
    """A clock that goes when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def report(kind: Kind = "change", sequence: int = 0, name: str = "", filler: int = 0) -> Report:
    """Return a report that can be told from others by *name*."""
    return Report(
        node="gpu-017",
        boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11",
        sequence=sequence,
        sent=1_795_000_000.0,
        kind=kind,
        product="gpudiag 0.1.0",
        versions={"name": name, "filler": "x" * filler},
    )


def opened(folder: Folder, limits: Limits = SMALL, clock: Seconds | None = None) -> Store:
    """Return a store with what *folder* holds; it gives numbers from 1 where it holds nothing."""
    store = Store(folder, limits=limits, monotonic=clock or Seconds())
    store.open(0)
    return store


def numbers(store: Store, most: int = 10_000) -> list[int]:
    """Return the numbers of what is unacknowledged."""
    rows, _ = store.batch(most, 1 << 30)
    assert [number for number, _ in rows] == [json.loads(body)["sequence"] for _, body in rows]
    return [number for number, _ in rows]
