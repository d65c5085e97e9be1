"""What was judged once is not judged again, and whatever changed is."""

from collections.abc import Iterator

import pytest

from agent.walk.judged import Judged
from collectors.facts.observation import Cause, Missing, Observation
from diagnostics.check import Check, Limits, check
from diagnostics.finding import Statement, Well


class Rain(Observation, frozen=True, kw_only=True):
    """What fell."""

    mm: float


class RainLimits(Limits, frozen=True, kw_only=True):
    """From when on it is wet."""

    wet_mm: float = 10.0


def counting(asked: list[object]) -> Check:
    """Return a check that notes when it is asked."""

    @check("host.rain", stage="processes", faults=(), proved="documented")
    def rain(seen: Rain | Missing, limits: RainLimits) -> Iterator[Statement]:
        """It is dry."""
        asked.append(seen)
        wet = isinstance(seen, Rain) and seen.mm >= limits.wet_mm
        yield Well(message="wet" if wet else "dry")

    return rain


DRY, WET = Rain(mm=1.0), Rain(mm=30.0)
GONE = Missing(what="Rain", cause=Cause.STALE, detail="it was not seen yet")


@pytest.mark.parametrize(
    ("second", "limits", "asked", "message"),
    [
        (DRY, None, 1, "dry"),
        (WET, None, 2, "wet"),
        (GONE, None, 2, "dry"),
        (DRY, RainLimits(wet_mm=0.5), 2, "wet"),
    ],
)
def test_only_what_changed_is_judged_anew(
    second: Rain | Missing, limits: RainLimits | None, asked: int, message: str
) -> None:
    """The same object under the same limits gets the same answer; anything else asks the check."""
    told: list[object] = []
    judged, rain = Judged(), counting(told)
    judged.run(rain, {Rain: DRY}, None)
    result = judged.run(rain, {Rain: second}, limits)

    assert (asked, message) == (len(told), result.message)


def test_the_result_is_the_check_s_own() -> None:
    """Whether remembered or not, it is what the check alone returns."""
    judged, rain = Judged(), counting([])
    results = [judged.run(rain, {Rain: WET}, None) for _ in range(2)]

    assert [rain.run({Rain: WET})] * 2 == results
