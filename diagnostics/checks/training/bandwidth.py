"""Whether collectives move data as fast as they did, and as fast as they should."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import named, quote
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.change import Change, rise
from diagnostics.series.middle import median
from diagnostics.series.point import Point


class BandwidthLimits(Limits, frozen=True, kw_only=True):
    """When a fall is told, and what a site knows that its fabric gives."""

    ratio: Annotated[float, msgspec.Meta(gt=1, description="earlier bandwidth over later")] = 1.2
    recent: Annotated[int, msgspec.Meta(ge=2, description="collectives that it must last")] = 5
    earlier: Annotated[int, msgspec.Meta(ge=2, description="collectives that are compared")] = 5
    least_gb_s: Annotated[
        float, msgspec.Meta(ge=0, description="bus bandwidth of large collectives in GB/s; 0: any")
    ] = 0.0


@check(
    "training.bandwidth", stage="training", faults=("allreduce_bandwidth_low",), proved="documented"
)
def bandwidth(seen: TrainingLogs, limits: BandwidthLimits) -> Iterator[Statement]:
    """Large collectives reach the bandwidth that they had, and that the site expects.

    nccl-tests and NCCL's Inspector print the bus bandwidth: what each link carries, whatever the
    number of ranks. Only messages of one size from 256 MiB on are compared, smaller ones measure
    latency. What a fabric should give no log says: a site sets it (`least_gb_s`).
    """
    yield from unread(seen)
    told = False
    for log in seen.logs:
        largest = max((p.batch or 0 for p in log.curve.points if p.bus_gb_s), default=0)
        points = [p for p in log.curve.points if p.bus_gb_s and p.batch == largest]
        if points:
            told = True
            yield _judge(log, points, limits)
    if seen.logs and not told:
        yield NotApplicable(why="no bandwidth of large collectives is printed")


def _judge(log: LogSeen, points: Sequence[Point], limits: BandwidthLimits) -> Finding | Well:
    rates = [p.bus_gb_s or 0.0 for p in points]
    fallen = rise(
        [1 / rate for rate in rates],
        ratio=limits.ratio,
        recent=limits.recent,
        earlier=limits.earlier,
    )
    if fallen is not None:
        return _fallen(log, points[fallen.at], fallen)
    usual = median(rates)
    if usual < limits.least_gb_s:
        return _low(log, points[-1], usual, limits)
    return Well(f"large collectives move {usual:,.1f} GB/s (median of {len(points):,})")


def _fallen(log: LogSeen, point: Point, fallen: Change) -> Finding:
    return found(
        "allreduce_bandwidth_low",
        "warning",
        named(log),
        "{log}: large collectives move {now} GB/s since line {line}, {before} GB/s in the "
        "{earlier} before",
        quote(log, point, bus_gb_s=point.bus_gb_s),
        log=log.name,
        now=f"{1 / fallen.now:,.1f}",
        before=f"{1 / fallen.before:,.1f}",
        line=point.line,
        earlier=fallen.earlier,
    )


def _low(log: LogSeen, point: Point, usual: float, limits: BandwidthLimits) -> Finding:
    return found(
        "allreduce_bandwidth_low",
        "warning",
        named(log),
        "{log}: large collectives move {usual} GB/s, {least} GB/s are expected here",
        quote(log, point, bus_gb_s=point.bus_gb_s),
        variant="expected",
        log=log.name,
        usual=f"{usual:,.1f}",
        least=f"{limits.least_gb_s:,.1f}",
    )
