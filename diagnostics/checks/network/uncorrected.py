"""The bit error rate behind the correction, as far as the blocks tell that it could not mend."""

from collections.abc import Iterator

from collectors.facts.subject import Subject
from collectors.network.fec_errors import FecErrors
from diagnostics.finding import Evidence, Finding, found

BLOCKS = "uncorrectable_blocks"
# Two looks of ten minutes: one burst, of a cable that was moved, is a note.
READINGS = 2
LEAST_S = 60.0
MEGA = 1e6


def uncorrected(seen: FecErrors, limit: float) -> Iterator[Finding]:
    """Yield the ports of which more than *limit* of all bits are wrong behind the correction.

    A block that cannot be mended has many wrong bits, of which one is counted: the rate is at least
    that, so that nothing is told too early.
    """
    for port in seen.ports:
        speed = seen.speeds_mbps.get(port.name, 0) * MEGA
        rates = port.per_s.get(BLOCKS, ())
        if not rates or not speed or rates[-1] / speed <= limit:
            continue
        lasting = seen.reading_s >= LEAST_S and port.steadily(BLOCKS, READINGS) / speed > limit
        lasting = lasting and len(rates) >= READINGS
        yield found(
            "nic_errors_rate",
            "warning" if lasting else "info",
            Subject(kind="nic", name=port.name),
            "interface {name}: {rate:g} blocks/s are beyond correction, at least {ber:.0e} of all "
            "bits at {gbps:g} Gb/s; {limit:.0e} is the limit",
            Evidence(
                source=f"ethtool --json -I --show-fec {port.name}",
                values={"uncorrectable_blocks_per_s": rates[-1], "limit": limit},
            ),
            variant="uncorrected",
            confidence=0.9 if lasting else 0.6,
            name=port.name,
            rate=rates[-1],
            ber=rates[-1] / speed,
            gbps=speed / 1e9,
            limit=limit,
        )
