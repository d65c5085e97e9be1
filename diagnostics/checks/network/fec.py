"""Is forward error correction on where the like of a port have it."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.fec import Fec, PortFec
from collectors.network.fec_errors import FecErrors
from diagnostics.check import Limits, check
from diagnostics.checks.network.uncorrected import uncorrected
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

MEGA = 1000
# Four lanes of 25 Gb/s, which a short copper cable carries without correction by the standard.
PLAIN_MBPS = 100_000


class FecLimits(Limits, frozen=True, kw_only=True):
    """When the other ports say what this one should have."""

    siblings: Annotated[
        int, msgspec.Meta(ge=1, description="ports of its speed that have it (our default)")
    ] = 2
    bit_errors: Annotated[
        float,
        msgspec.Meta(
            ge=0, description="part of all bits that is wrong behind the correction (IBTA: 1e-12)"
        ),
    ] = 1e-12


@check(
    "network.fec", stage="network", faults=("nic_fec_off", "nic_errors_rate"), proved="documented"
)
def fec(seen: Fec, errors: FecErrors | Missing, limits: FecLimits) -> Iterator[Statement]:
    """No port of 100 Gb/s and more goes without error correction where its like have it.

    Lanes of 50 Gb/s and more lose bits by design, and the correction mends them. Without it each
    lost bit is a lost packet, which all ranks of a job wait for. Short copper cables of 100 Gb/s
    need none: there it is a note. Where a driver counts the blocks that could not be mended, they
    are held against IBTA's limit of bit errors, as `mlxlink` would tell it.
    """
    yield from (Unseen(missing=missing) for missing in seen.silent)
    told = [port for port in seen.ports if port.active]
    if not told:
        if not seen.silent:
            yield NotApplicable(why="no Ethernet port of 100 Gb/s or more tells of its correction")
        return
    findings = [one for port in told if port.off and (one := _off(port, told, limits))]
    if not isinstance(errors, Missing):
        findings += uncorrected(errors, limits.bit_errors)
    yield from findings
    if not any(one.severity != "info" for one in findings):
        kinds = sorted({" ".join(port.active) for port in told})
        yield Well(message=f"{len(told)} ports, correction {', '.join(kinds)}")


def _off(port: PortFec, told: Sequence[PortFec], limits: FecLimits) -> Finding | None:
    like = [one for one in told if one.speed_mbps == port.speed_mbps and one is not port]
    having = [one for one in like if not one.off]
    # Where as many go without, nobody knows which of them are meant.
    if len(having) < limits.siblings or 2 * len(having) <= len(like):
        return None
    kinds = " ".join(sorted({kind for one in having for kind in one.active}))
    return found(
        "nic_fec_off",
        "warning" if port.speed_mbps > PLAIN_MBPS else "info",
        Subject(kind="nic", name=port.name),
        "interface {name} runs at {speed:g} Gb/s without error correction; {having} like it "
        "have {kinds}",
        Evidence(
            source=f"ethtool --show-fec {port.name}",
            values={"active": "Off", "configured": " ".join(port.configured)},
        ),
        confidence=0.8,
        name=port.name,
        speed=port.speed_mbps / MEGA,
        having=len(having),
        kinds=kinds,
    )
