"""Are the modules of Ethernet cards below their own limits of heat."""

from collections.abc import Iterator

from collectors.facts.subject import Subject
from collectors.network.optics import Module, Optics
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found


@check("network.optics", stage="network", faults=("ib_cable_overheat",), proved="documented")
def optics(seen: Optics) -> Iterator[Statement]:
    """No module is as hot as its own registers say that it may not be.

    A module that is too hot loses symbols, and then switches its laser off: the link goes down in
    the middle of a job, and is up again when somebody comes to look.
    """
    yield from (Unseen(missing=missing) for missing in seen.silent)
    if not seen.modules:
        if not seen.silent:
            yield NotApplicable(why="no Ethernet card with a carrier tells of a module")
        return
    hot = [one for module in seen.modules if (one := _hot(module))]
    yield from hot
    heats = [module.celsius for module in seen.modules if module.celsius is not None]
    if not hot:
        warmest = f", the warmest at {max(heats):.0f} C" if heats else ""
        yield Well(message=f"{len(seen.modules)} modules{warmest}")


def _hot(module: Module) -> Finding | None:
    celsius, alarm, warning = module.celsius, module.alarm_celsius, module.warning_celsius
    limit = alarm or warning
    if celsius is None or not limit:
        return None
    loud = bool(alarm) and celsius >= limit
    if not loud and not (warning and celsius >= warning):
        return None
    return found(
        "ib_cable_overheat",
        "warning" if loud else "info",
        Subject(kind="nic", name=module.name),
        "the module of {name} is at {celsius:.0f} C; its own limit is {limit:.0f} C",
        Evidence(
            source=f"ethtool -m {module.name}",
            values={"celsius": celsius, "alarm": alarm, "warning": warning, "part": module.part},
        ),
        variant="module",
        name=module.name,
        celsius=celsius,
        limit=limit if loud else warning,
    )
