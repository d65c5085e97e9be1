"""What ended a boot that nobody ended is told by a panic, the BMC, or its last lines."""

import pytest

from collectors.bmc.events import BmcEvents, Entry
from collectors.facts.observation import Cause, Missing
from collectors.kernel.last_boot import BootEnd, Crash, LastBoot
from diagnostics.checks.kernel.boot_cause import boot_cause

AT = 1_796_001_300.0
BLIND = Missing(what="BmcEvents", cause=Cause.TIMEOUT, detail="not done in 20 s")
QUIET = BmcEvents(present=True)


def sel(sensor_type: int, offset: int, *, at: float = AT + 4, event: int = 0x6F) -> BmcEvents:
    entry = Entry(id=7, time=at, sensor_type=sensor_type, event=event, offset=offset, name="S1")
    return BmcEvents(present=True, entries=(entry,))


def kind(log: BmcEvents | Missing, *lines: str, panic_at: float | None = None) -> str:
    end = BootEnd(boot_id="b", time=AT, age_s=1600.0, kernel=lines)
    crashes = () if panic_at is None else (Crash(path="/p", time=panic_at, age_s=1.0),)
    return boot_cause(LastBoot(crashes=crashes, end=end), end, log).kind


@pytest.mark.parametrize(
    ("log", "lines", "panic_at", "wanted"),
    [
        (QUIET, (), AT + 12, "panic"),
        (sel(0x09, 0x04), (), AT + 12, "panic"),
        (sel(0x09, 0x04), (), None, "power"),
        (sel(0x08, 0x03), (), None, "power"),
        (sel(0x07, 0x01), (), None, "heat"),
        (sel(0x01, 0x0B, event=0x01), (), None, "heat"),
        (sel(0x23, 0x01), (), None, "bmc_reset"),
        (sel(0x0C, 0x01), (), None, "unknown"),
        (sel(0x09, 0x04, at=AT - 7200), (), None, "unknown"),
        (QUIET, ("thermal thermal_zone0: critical temperature reached",), None, "heat"),
        (BLIND, ("mce: [Hardware Error]: CPU 3: Machine Check: 0",), None, "machine_check"),
        (QUIET, ("perf: interrupt took too long",), AT - 86_400, "unknown"),
        (BLIND, (), None, "unknown"),
    ],
)
def test_what_ended_the_boot(
    log: BmcEvents | Missing, lines: tuple[str, ...], panic_at: float | None, wanted: str
) -> None:
    """The nearest witness is believed: what lies hours before or is of memory ends no boot."""
    assert wanted == kind(log, *lines, panic_at=panic_at)
