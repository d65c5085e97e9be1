"""A loss that is no number follows from a GPU's error near in time, and from no other one."""

import pytest

from collectors.facts.subject import Subject
from diagnostics.checks.training.loss import loss
from diagnostics.document import numbered
from diagnostics.finding import Evidence, found
from diagnostics.incidents.join import explain
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import TrainingLogs

# 2026-11-30 02:40:00 UTC
NAN = 1_796_006_400.0
LINES = "".join(f"step: {n} loss: 2.1\n" for n in range(1, 30))


@pytest.mark.parametrize(
    ("stamp", "minutes", "expected"),
    [
        ("2026-11-30T02:40:00Z ", 5, True),
        ("2026-11-30T02:40:00Z ", 120, False),
        ("", 5, False),
    ],
)
def test_near_in_time(stamp: str, minutes: int, *, expected: bool) -> None:
    """An uncorrectable error some minutes before it explains it; without times nothing does."""
    reading = Reading(Knowledge.of([]), "train.log")
    reading.feed(f"{LINES}{stamp}step: 30 loss: nan\n".encode())
    bad = loss.run({TrainingLogs: TrainingLogs(logs=(reading.seen(),))}).findings
    at = NAN - 60.0 * minutes
    error = found(
        "ecc_uncorrectable",
        "critical",
        Subject(kind="gpu", name="0000:1c:00.0"),
        "GPU 0000:1c:00.0 has an uncorrectable memory error",
        Evidence(source="kmsg", line=1, text="Xid 48", time=at, time_error_s=1.0),
        first_seen=at,
    )
    (_, told) = explain(numbered((error, *bad)))
    assert expected == (told.explained_by is not None)
