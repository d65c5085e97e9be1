"""Ports that wait, or are told to slow down, more than their siblings or than they usually do."""

import statistics
from collections.abc import Iterator, Mapping

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.jobs.expected import Expected
from collectors.network.counters import FOLDERS, PortCounters
from collectors.network.ports import CLASS, Port
from diagnostics.checks.network.counting import READINGS
from diagnostics.finding import Evidence, Finding, found
from diagnostics.series.usual import PER_S, usual

SIBLINGS = 3


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One counter; below `least` a second it is no news whatever the others do."""

    counter: str
    fault: str
    least: float
    what: str


CONGESTION = (
    Row(counter="port_xmit_wait", fault="ib_congestion", least=1e7,
        what="ticks of waiting for credit"),
    Row(counter="np_cnp_sent", fault="roce_congestion", least=1e3,
        what="congestion notices sent"),
    Row(counter="np_ecn_marked_roce_packets", fault="roce_congestion", least=1e3,
        what="packets marked by switches"),
    Row(counter="rp_cnp_handled", fault="roce_congestion", least=1e3,
        what="congestion notices received"),
    Row(counter="rp_cnp_ignored", fault="roce_congestion", least=1e3,
        what="congestion notices ignored"),
)  # fmt: skip


def congested(
    seen: PortCounters, known: Mapping[str, Port], expected: Expected | Missing, times: float
) -> Iterator[Finding]:
    """Yield notes on ports that are *times* above their siblings, or else above their own hours."""
    for row in CONGESTION:
        rates = {r.name: r.steadily(row.counter, READINGS) for r in seen.ports if r.name in known}
        for name, rate in rates.items():
            others = [rates[o] for o in rates if o != name and _alike(known[o], known[name])]
            middle = statistics.median(others) if len(others) >= SIBLINGS else None
            if middle is not None and rate >= row.least and rate > times * max(middle, 1.0):
                yield _busier(name, row, rate, middle)
            elif rate > 0 and (one := _unusual(name, row, expected, times)):
                yield one


def _alike(one: Port, other: Port) -> bool:
    return (one.hca_type, one.link_layer) == (other.hca_type, other.link_layer)


def _busier(name: str, row: Row, rate: float, middle: float) -> Finding:
    return found(
        row.fault,
        "info",
        Subject(kind="port", name=name),
        "port {port}: {rate:,.0f} {what}/s; the middle of its siblings is {usual:,.0f}/s",
        Evidence(
            source=_source(name, row),
            values={"per_s": round(rate, 1), "siblings_per_s": round(middle, 1)},
        ),
        variant=row.counter,
        confidence=0.6,
        port=name,
        what=row.what,
        rate=round(rate),
        usual=round(middle),
    )


def _source(name: str, row: Row) -> str:
    device, _, port = name.rpartition("/")
    return f"{CLASS}/{device}/ports/{port}/{FOLDERS[row.counter]}/{row.counter}"


def _unusual(name: str, row: Row, expected: Expected | Missing, times: float) -> Finding | None:
    """Return that the last whole hour was far above this port's hours: another job can do that."""
    if isinstance(expected, Missing) or expected.before is None:
        return None
    text = f"{row.counter}{PER_S}{name}"
    hours = usual(expected.before.usual.get(text, ()))
    if hours is None or not hours.above(times, row.least):
        return None
    return found(
        row.fault,
        "info",
        Subject(kind="port", name=name),
        "port {port}: {rate:,.0f} {what}/s in the last hour, {usual:,.0f}/s in most hours before",
        Evidence(
            source=expected.before.source,
            text=text,
            values={"hours": hours.hours, "provisional": hours.provisional},
        ),
        variant=f"{row.counter}_usual",
        confidence=0.5,
        port=name,
        what=row.what,
        rate=round(hours.lately),
        usual=round(hours.middle),
    )
