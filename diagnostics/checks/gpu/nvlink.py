"""Whether every NVLink is up that should be, and carries data without errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Link
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.knowledge.models import of_name

# Flits with a wrong checksum are sent again by the link itself; a few a second are its normal life.
CHECKSUMS = ("crc_flits", "crc_data")
FAILED = ("recoveries_failed",)
# Each of these stops the link for a moment, or drops what it carried.
EVENTS = (
    "replays",
    "recoveries",
    "recovery_events",
    "malformed_packets",
    "buffer_overruns",
    "receive_errors",
    "remote_receive_errors",
    "integrity_errors",
    *FAILED,
)


class NvlinkLimits(Limits, frozen=True, kw_only=True):
    """When errors count."""

    checksums_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="CRC errors a second on a link")
    ] = 100.0
    events: Annotated[
        int, msgspec.Meta(ge=1, description="replays, recoveries or lost packets between readings")
    ] = 1


@check("gpu.nvlink", stage="driver", faults=("nvlink_down", "nvlink_error"), proved="documented")
def nvlink(health: GpuHealth, limits: NvlinkLimits) -> Iterator[Statement]:
    """Each GPU has the NVLinks up that its siblings and its product have, and none counts errors.

    All-reduce inside the node runs at the speed of the GPU with the fewest links. Cards are bridged
    in pairs or not at all, and a GPU in MIG mode or alone in a virtual machine may have none up, so
    that a link counts as down only where a baseboard or the siblings say that it is wired.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    linked = [gpu for gpu in health.answering() if _known(gpu) and not gpu.modes.mig]
    if not linked:
        yield NotApplicable(why="no GPU tells of an NVLink, or all are divided by MIG")
        return
    down: list[Finding] = []
    for group in asked.by_product(linked):
        down += _down(group)
    errors = [e for then, now in health.watched() for e in _errors(then, now, health, limits)]
    yield from down
    yield from errors
    up = [sum(1 for link in _known(gpu) if link.active) for gpu in linked]
    if not down and not errors and not any(up):
        yield NotApplicable(why=f"none of the NVLinks of {asked.some(health, linked)} is in use")
    elif not down and not errors:
        counts = " and ".join(map(str, sorted(set(up))))
        yield Well(message=f"{asked.some(health, linked)}: {counts} NVLinks up each")


def _known(gpu: GpuReading) -> list[Link]:
    return [link for link in gpu.nvlink.links if link.active is not None]


def _down(group: Sequence[GpuReading]) -> Iterator[Finding]:
    model = of_name(group[0].name)
    wired = model.nvlinks if model and model.nvlinks else 0
    states = {gpu.key: {link.link: bool(link.active) for link in _known(gpu)} for gpu in group}
    if not any(up for links in states.values() for up in links.values()):
        return
    for gpu in group:
        others = [states[other.key] for other in group if other is not gpu]
        down = [n for n, up in states[gpu.key].items() if not up]
        by_siblings = [n for n in down if asked.usual(links.get(n) for links in others)]
        by_table = [n for n in down if n < wired]
        if missing := sorted({*by_siblings, *by_table}):
            known = f"{len(others)} siblings have them up" if by_siblings else f"{wired} are wired"
            board = wired > 0 or (model is not None and model.board)
            yield _off(gpu, missing, known, "critical" if board else "info")


def _off(gpu: GpuReading, missing: Sequence[int], known: str, severity: Severity) -> Finding:
    return found(
        "nvlink_down",
        severity,
        asked.subject(gpu),
        "GPU {gpu} has {up} of {count} NVLinks up, without {missing}; {known}",
        Evidence(source=asked.WHAT, values={"down": list(missing)}),
        confidence=0.9 if severity == "critical" else 0.4,
        gpu=asked.named(gpu),
        up=sum(1 for link in _known(gpu) if link.active),
        count=len(_known(gpu)),
        missing=_spans(missing),
        known=known,
    )


def _spans(numbers: Sequence[int]) -> str:
    """Return `0-5, 7` for six links in a row and one more."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


def _errors(
    then: GpuReading, now: GpuReading, health: GpuHealth, limits: NvlinkLimits
) -> Iterator[Finding]:
    """Yield one finding of a GPU for what its links counted between the readings."""
    seconds = health.watched_s
    grown = {name: more for name, more in _grown(then, now).items() if more > 0}
    events = {name: more for name, more in grown.items() if name.partition(" ")[0] in EVENTS}
    checksums = {
        name: more
        for name, more in grown.items()
        if name.partition(" ")[0] in CHECKSUMS and more > limits.checksums_per_s * seconds
    }
    if sum(events.values()) < limits.events:
        events = {}
    if not events and not checksums:
        return
    told = {**events, **checksums}
    failed = any(name.partition(" ")[0] in FAILED for name in told)
    yield found(
        "nvlink_error",
        "critical" if failed else "warning",
        asked.subject(now),
        "NVLinks of GPU {gpu} counted errors in {seconds:g} s: {errors}",
        Evidence(source=asked.WHAT, values={"grown": told}),
        variant="rate",
        gpu=asked.named(now),
        seconds=seconds,
        errors=", ".join(f"{more} {name.replace('_', ' ')}" for name, more in told.items()),
    )


def _grown(then: GpuReading, now: GpuReading) -> dict[str, int]:
    """Return what each counter grew by, `replays on link 3`; the GPU's sums where links tell none.

    A counter that fell was reset in between, and says nothing.
    """
    earlier = {link.link: link.errors for link in then.nvlink.links}
    links = {
        f"{name} on link {link.link}": count - earlier[link.link].get(name, 0)
        for link in now.nvlink.links
        if link.link in earlier
        for name, count in link.errors.items()
    }
    return links or _sums(_totals(then), _totals(now))


def _totals(gpu: GpuReading) -> Mapping[str, int | None]:
    return {name: getattr(gpu.nvlink, name) for name in ("replays", "recoveries", *CHECKSUMS)}


def _sums(then: Mapping[str, int | None], now: Mapping[str, int | None]) -> dict[str, int]:
    pairs = ((name, then[name], now[name]) for name in now)
    return {name: b - a for name, a, b in pairs if a is not None and b is not None}
