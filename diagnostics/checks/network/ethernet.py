"""Do pauses, discards and errors of Ethernet cards rise."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interfaces import Interfaces
from collectors.network.rising import Rises
from collectors.network.statistics import EthernetStatistics
from diagnostics.check import Limits, check
from diagnostics.checks.network.corrected import corrected
from diagnostics.checks.network.counting import READINGS, Breach, Row, breaches
from diagnostics.finding import (
    RANK,
    Evidence,
    Finding,
    NotApplicable,
    Statement,
    Unseen,
    Well,
    found,
)

MICROSECONDS = 1e6
PRIORITY = re.compile(r"([rt])x_prio([0-7])_pause(_duration)?")
PRIORITIES = range(8)


class EthernetLimits(Limits, frozen=True, kw_only=True):
    """Limits of rates; each must hold for three readings, a minute apart in the daemon."""

    paused_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="time paused, in percent (our default)")
    ] = 10.0
    symbols_per_s: Annotated[
        float,
        msgspec.Meta(ge=0, description="symbol errors after correction a second (NVSentinel)"),
    ] = 10.0
    frames_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="frames with a wrong checksum a second (our default)")
    ] = 1.0
    drops_per_h: Annotated[
        float, msgspec.Meta(ge=0, description="times that the link went down in an hour (gpud)")
    ] = 2.0
    discards_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="frames without a buffer a second (our default)")
    ] = 100.0
    over_siblings: Annotated[
        float,
        msgspec.Meta(gt=1, description="times the corrected bits of its siblings (our default)"),
    ] = 10.0


def rows(limits: EthernetLimits) -> list[Row]:
    """Return what is judged of a card's wire, whatever runs over it."""
    error = "nic_errors_rate"
    return [
        Row(counter="rx_symbol_err_phy", fault=error, most=limits.symbols_per_s, per="s",
            what="symbol errors"),
        Row(counter="rx_pcs_symbol_err_phy", fault=error, most=limits.symbols_per_s, per="s",
            what="symbol errors behind the correction"),
        Row(counter="rx_crc_errors_phy", fault=error, most=limits.frames_per_s, per="s",
            what="frames with a wrong checksum"),
        Row(counter="rx_crc_errors", fault=error, most=limits.frames_per_s, per="s",
            what="frames with a wrong checksum"),
        Row(counter="link_down_events_phy", fault=error, most=limits.drops_per_h, per="h",
            what="times down"),
        Row(counter="tx_pause_storm_error_events", fault="roce_pfc_storm", most=0, per="h",
            what="pause storms that the card stopped"),
        Row(counter="tx_pause_storm_warning_events", fault="roce_pfc_storm", most=0, per="h",
            what="warnings of a pause storm", severity="info", once="info"),
        Row(counter="rx_discards_phy", fault="roce_congestion", most=limits.discards_per_s,
            per="s", what="frames that found no buffer", severity="info", once="info"),
        Row(counter="module_high_temp", fault="ib_cable_overheat", most=0, per="h",
            what="times that the module was too hot"),
        Row(counter="module_bad_shorted", fault=error, most=0, per="h",
            what="times that the module was shorted"),
    ]  # fmt: skip


@check(
    "network.ethernet",
    stage="network",
    faults=("nic_errors_rate", "roce_pfc_storm", "roce_congestion", "ib_cable_overheat"),
    proved="documented",
)
def ethernet(
    seen: EthernetStatistics, interfaces: Interfaces | Missing, limits: EthernetLimits
) -> Iterator[Statement]:
    """No Ethernet card is paused for long, drops what is meant to be lossless, or counts errors.

    Pauses keep RoCE lossless, and are normal on the priority that it uses. A host that sends them
    for much of the time stops the switch before it, and with it all that goes through. What is
    dropped on a priority that is paused was promised not to be.
    """
    yield from (Unseen(missing=missing) for missing in seen.silent)
    if not seen.seen:
        if not seen.silent:
            yield NotApplicable(why="no Ethernet card has a carrier")
        return
    single = seen.watched_s <= seen.reading_s
    findings = [one for card in seen.cards for one in _of_card(card, limits, single=single)]
    findings += corrected(seen, interfaces, limits.over_siblings)
    yield from findings
    if not any(finding.severity != "info" for finding in findings):
        yield Well(message=f"statistics of {seen.seen} Ethernet cards, no errors rise")


def _of_card(card: Rises, limits: EthernetLimits, *, single: bool) -> Iterator[Finding]:
    by_fault: dict[str, list[Breach]] = {}
    for breach in breaches(card, rows(limits), single):
        by_fault.setdefault(breach.row.fault, []).append(breach)
    yield from (_over(card, fault, some) for fault, some in by_fault.items())
    yield from _paused(card, limits, single=single)
    yield from _lossless(card, single=single)


def _over(card: Rises, fault: str, some: Sequence[Breach]) -> Finding:
    return found(
        fault,
        max((breach.severity for breach in some), key=RANK.__getitem__),
        Subject(kind="nic", name=card.name),
        "interface {name}: {what}",
        Evidence(
            source=f"ethtool -S {card.name}",
            values={b.row.counter: round(b.rate, 3) for b in some},
        ),
        name=card.name,
        what="; ".join(breach.words for breach in some),
    )


def _paused(card: Rises, limits: EthernetLimits, *, single: bool) -> Iterator[Finding]:
    """Yield the priorities that spend much of their time paused: tx are pauses that we sent."""
    for side, words in (("tx", "stops its switch"), ("rx", "is stopped by its switch")):
        for priority in PRIORITIES:
            counter = f"{side}_prio{priority}_pause_duration"
            percent = card.steadily(counter, READINGS) / MICROSECONDS * 100
            if percent <= limits.paused_percent:
                continue
            yield found(
                "roce_pfc_storm" if side == "tx" else "roce_congestion",
                "info" if single or side == "rx" else "warning",
                Subject(kind="nic", name=card.name),
                "interface {name} {words} on priority {priority} for {percent:.0f} % of the time",
                Evidence(source=f"ethtool -S {card.name}", values={counter: round(percent, 1)}),
                variant=side,
                confidence=0.8,
                name=card.name,
                words=words,
                priority=priority,
                percent=round(percent),
            )


def _lossless(card: Rises, *, single: bool) -> Iterator[Finding]:
    """Yield the priorities that are paused, and thus lossless, and yet drop."""
    paused = {hit[2] for name in card.per_s if (hit := PRIORITY.fullmatch(name))}
    for priority in sorted(paused):
        names = [f"rx_prio{priority}_{kind}" for kind in ("discards", "buf_discard")]
        rate = max(card.steadily(name, READINGS) for name in names)
        if rate > 0:
            yield found(
                "roce_congestion",
                "info" if single else "warning",
                Subject(kind="nic", name=card.name),
                "interface {name} drops {rate:,.3g} frames/s on priority {priority}, which is "
                "paused and so meant to lose none",
                Evidence(source=f"ethtool -S {card.name}", values={"discards_per_s": rate}),
                variant="lossless",
                confidence=0.8,
                name=card.name,
                rate=rate,
                priority=int(priority),
            )
