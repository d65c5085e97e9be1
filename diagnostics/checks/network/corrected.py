"""Bits that error correction mends: their rate against the line's is the bit error rate before it.

Lanes of 50 Gb/s (HDR, 200GbE and faster) have 1e-8 to 1e-6 by design; so a port is compared with
its siblings, and told only above that.
"""

import statistics
from collections.abc import Iterator

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interfaces import Interfaces
from collectors.network.statistics import EthernetStatistics
from diagnostics.checks.network.counting import READINGS
from diagnostics.finding import Evidence, Finding, found

COUNTER = "rx_corrected_bits_phy"
SIBLINGS = 3
MEGA = 1e6
# The most that is by design, before correction.
BY_DESIGN = 1e-6


def corrected(
    seen: EthernetStatistics, interfaces: Interfaces | Missing, times: float
) -> Iterator[Finding]:
    """Yield notes on cards that mend far more than those of their speed: a cable that ages."""
    listed = () if isinstance(interfaces, Missing) else interfaces.interfaces
    speeds = {one.name: one.speed_mbps for one in listed if one.speed_mbps}
    rates = {
        card.name: card.steadily(COUNTER, READINGS) / (speeds[card.name] * MEGA)
        for card in seen.cards
        if card.name in speeds
    }
    for name, rate in rates.items():
        others = [rates[o] for o in rates if o != name and speeds[o] == speeds[name]]
        if len(others) < SIBLINGS or rate <= BY_DESIGN:
            continue
        middle = statistics.median(others)
        if rate > times * middle:
            yield _more(name, rate, middle)


def _more(name: str, rate: float, middle: float) -> Finding:
    return found(
        "nic_errors_rate",
        "info",
        Subject(kind="nic", name=name),
        "interface {name}: {rate:.1e} of its bits are wrong before correction; the middle of its "
        "siblings is {usual:.1e}",
        Evidence(
            source=f"ethtool -S {name}",
            text=COUNTER,
            values={"bit_error_rate": rate, "siblings": middle},
        ),
        variant="corrected",
        confidence=0.6,
        name=name,
        rate=rate,
        usual=middle,
    )
