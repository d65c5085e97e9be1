"""Reports as an agent sends them, with values of their own."""

from collections.abc import Iterable
from typing import Any

import msgspec

from aggregator.wire import Part, Report

NOW = 1_796_000_000.0
GPU = "1650123000001"


def report(sequence: int = 1, **facts: Any) -> Report:
    """Return a heartbeat of gpu-001, or what *facts* make of it."""
    given: dict[str, Any] = {
        "node": "gpu-001",
        "boot_id": "b-1",
        "sequence": sequence,
        "sent": NOW,
        "kind": "heartbeat",
        "product": "gpudiag 0.1.0",
        "verdict": "ok",
    }
    return Report(**(given | facts))


def snapshot(sequence: int = 1, **facts: Any) -> Report:
    """Return a snapshot with two parts and one finding."""
    found = {"id": "f1", "fault": "gpu_lost", "severity": "critical", "message": "it left the bus"}
    parts = (
        Part(kind="board", serial="BRD-77", slot="0", model="S9"),
        Part(kind="gpu", serial=GPU, slot="0000:1a:00.0", firmware="96.00.74"),
    )
    given: dict[str, Any] = {
        "kind": "snapshot",
        "verdict": "fault",
        "machine": "m-1",
        "diagnosis": {"schema": "gpudiag.diagnosis/1", "findings": [found]},
        "parts": parts,
        "versions": {"driver": "580.65.06"},
    }
    return report(sequence, **(given | facts))


def lines(reports: Iterable[Report]) -> bytes:
    """Return a body of NDJSON."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in reports)
