"""Heat that rises on many nodes of one place: one incident of the facility.

It is for people alone. Each node goes on holding its own GPUs: a cap needs no lease, and what is
said here stops none.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from aggregator.fleet.mass import MOST, WINDOW_S, Case

# What a node tells of heat, be it of its GPUs, its air or its coolant.
FAULTS = (
    "chassis_temperature_high",
    "coolant_temperature_high",
    "gpu_thermal_margin_low",
    "gpu_thermal_throttle",
    "inlet_temperature_high",
)
# Where heat is shared: what cools it, and what feeds it.
KINDS = ("rack=", "feed=")


class Rise(msgspec.Struct, frozen=True, kw_only=True):
    """A place that gets hot: since when (epoch seconds), and all its nodes that are hot now."""

    place: str
    since: float
    nodes: tuple[str, ...]

    @property
    def says(self) -> str:
        """The sentence for a person."""
        return (
            f"heat on {len(self.nodes)} nodes of {self.place}: one incident of the facility; "
            "each node holds its own GPUs meanwhile"
        )


def rises(cases: Iterable[Case], window_s: float = WINDOW_S, most: int = MOST) -> tuple[Rise, ...]:
    """Return the places on which over *most* nodes became hot within *window_s*."""
    hot: dict[str, dict[str, float]] = defaultdict(dict)
    for case in cases:
        for share in case.shares:
            if share.startswith(KINDS):
                first = hot[share].get(case.node, case.since)
                hot[share][case.node] = min(first, case.since)
    found = [_rise(place, nodes, window_s, most) for place, nodes in sorted(hot.items())]
    return tuple(rise for rise in found if rise is not None)


def _rise(place: str, nodes: dict[str, float], window_s: float, most: int) -> Rise | None:
    since = _together(sorted(nodes.values()), window_s, most)
    return None if since is None else Rise(place=place, since=since, nodes=tuple(sorted(nodes)))


def _together(times: Sequence[float], window_s: float, most: int) -> float | None:
    """Return when the first of more than *most* began that lie within one window."""
    pairs = zip(times, times[most:], strict=False)
    return next((first for first, last in pairs if last - first <= window_s), None)
