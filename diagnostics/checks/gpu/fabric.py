"""Whether the NVSwitch fabric is set up for each GPU, by a manager of the driver's version."""

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.processes import ProcessTable
from collectors.gpu.bus import PciGpus
from collectors.gpu.fabric_manager import TOOL, FabricManager
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Fabric
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.knowledge.models import of_name

NOT_STARTED, IN_PROGRESS, COMPLETED = 1, 2, 3
STATES = {NOT_STARTED: "not started", IN_PROGRESS: "in progress"}
# The kernel cuts a process's name at 15 letters.
COMM = TOOL[:15]
# nvml.h, health mask: where each group begins, its width in bits, what its fault value says.
GROUPS: tuple[tuple[int, str, Severity], ...] = (
    (0, "has degraded bandwidth", "warning"),
    (2, "has its routes under repair", "warning"),
    (4, "has unhealthy routes", "critical"),
    (6, "recovers from an access that timed out", "warning"),
)
TRUE = 1
CONFIGURATION, CONFIGURATION_MASK = 8, 0xF
UNHEALTHY, LIMITED = 2, 3
# So many GPUs are a whole baseboard: with NVSwitches that PCI shows, and with those it does not.
BOARD, BOARD_UNSEEN = 8, 4


class FabricLimits(Limits, frozen=True, kw_only=True):
    """How long after boot the fabric may still be on its way."""

    after_boot_s: Annotated[float, msgspec.Meta(ge=0, description="seconds since boot")] = 300.0


@check("gpu.fabric", stage="driver", faults=("fabric_manager_not_ready",), proved="documented")
def fabric(
    health: GpuHealth,
    pci: PciGpus | Missing,
    manager: FabricManager | Missing,
    table: ProcessTable | Missing,
    limits: FabricLimits,
) -> Iterator[Statement]:
    """Each GPU behind NVSwitches has completed its fabric, and the manager is the driver's version.

    Until then every CUDA program on the node fails with error 802. The service can be active and
    the fabric not: what the GPUs say counts. An A100 does not say it; there it is whether the
    manager runs.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    version = None if isinstance(manager, Missing) else manager.version
    switches = 0 if isinstance(pci, Missing) else len(pci.switches)
    told = [gpu for gpu in health.answering() if gpu.fabric.state]
    if not told and not switches:
        yield NotApplicable(why="no GPU has a place in an NVSwitch fabric")
        return
    fresh = not isinstance(table, Missing) and table.uptime_s < limits.after_boot_s
    needed = _needed(told, switches, version)
    ill = [(gpu, one) for gpu in told if (one := _judge(gpu, needed=needed, fresh=fresh))]
    findings = list(_told(ill, told, table))
    if not told and (gone := _without_manager(switches, table, fresh=fresh)):
        findings.append(gone)
    if version and health.driver and version != health.driver:
        findings.append(_versions(version, health.driver, table))
    yield from findings
    if not findings:
        what = f"{len(told)} GPUs have completed" if told else f"{switches} NVSwitches are managed"
        yield Well(message=f"fabric: {what}{f', manager {version}' if version else ''}")


def _needed(told: Sequence[GpuReading], switches: int, version: str | None) -> bool:
    """Return whether something besides the GPU says that it sits in a fabric.

    One that is passed alone into a virtual machine can be "in progress" there for ever.
    """
    models = [of_name(gpu.name) for gpu in told]
    boards = sum(1 for model in models if model and model.fabric)
    unseen = any(model and model.fabric and not model.switches for model in models)
    completed = any(gpu.fabric.state == COMPLETED for gpu in told)
    whole = boards >= (BOARD_UNSEEN if unseen else BOARD)
    return switches > 0 or completed or version is not None or whole


class Ill(NamedTuple):
    """What is wrong with a GPU's fabric; `what` is how a sentence about it goes on."""

    severity: Severity
    variant: str
    what: str


def _judge(gpu: GpuReading, *, needed: bool, fresh: bool) -> Ill | None:
    state, status = gpu.fabric.state, gpu.fabric.status
    if state in STATES:
        severity: Severity = "critical" if needed and not fresh else "info"
        return Ill(severity, "state", f"is {STATES[state]}")
    if state != COMPLETED:
        return None
    if status:
        return Ill("critical", "status", f"was completed with error {status}")
    return _ill(gpu.fabric)


def _ill(fabric: Fabric) -> Ill | None:
    """Return the worst that the health mask tells, or the summary where the mask tells nothing."""
    mask = fabric.health_mask or 0
    told = [
        Ill(severity, "health", text) for at, text, severity in GROUPS if (mask >> at) & 3 == TRUE
    ]
    configuration = (mask >> CONFIGURATION) & CONFIGURATION_MASK
    if configuration > TRUE:
        told.append(Ill("critical", "health", f"is configured wrongly (code {configuration})"))
    if not told and fabric.health == UNHEALTHY:
        told.append(Ill("critical", "health", "is unhealthy"))
    if not told and fabric.health == LIMITED:
        told.append(Ill("warning", "health", "has limited capacity"))
    critical = [one for one in told if one.severity == "critical"]
    return next(iter(critical or told), None)


def _told(
    ill: Sequence[tuple[GpuReading, Ill]],
    told: Sequence[GpuReading],
    table: ProcessTable | Missing,
) -> Iterator[Finding]:
    """Yield one finding for what several GPUs have in common: the fabric is of the whole node."""
    alike: dict[Ill, list[GpuReading]] = {}
    for gpu, one in ill:
        alike.setdefault(one, []).append(gpu)
    absent = _seen(table) and not _running(table)
    for one, gpus in alike.items():
        manager = "; no nv-fabricmanager runs" if one.variant == "state" and absent else ""
        first, several = gpus[0], len(gpus) > 1
        yield found(
            "fabric_manager_not_ready",
            one.severity,
            NODE if several else asked.subject(first),
            "the fabric of {gpus} {what}{manager}",
            Evidence(source=asked.WHAT, values={asked.address(gpu): _values(gpu) for gpu in gpus}),
            variant=f"{one.variant}.several" if several else one.variant,
            gpus=_these(gpus, told),
            what=one.what,
            manager=manager,
        )


def _these(gpus: Sequence[GpuReading], told: Sequence[GpuReading]) -> str:
    if len(gpus) == len(told) > 1:
        return "both GPUs" if len(gpus) == 2 else f"all {len(gpus)} GPUs"  # noqa: PLR2004 - both
    return ("GPU " if len(gpus) == 1 else "GPUs ") + ", ".join(map(asked.named, gpus))


def _values(gpu: GpuReading) -> dict[str, object]:
    told = msgspec.structs.asdict(gpu.fabric)
    # A cluster of zeros alone is that of a node without a rack around it.
    return {n: v for n, v in told.items() if v is not None and set(str(v)) - {"0", "-"}}


def _without_manager(
    switches: int, table: ProcessTable | Missing, *, fresh: bool
) -> Finding | None:
    """Return that nobody manages the switches."""
    if isinstance(table, Missing) or not _seen(table) or _running(table):
        return None
    return found(
        "fabric_manager_not_ready",
        "info" if fresh else "critical",
        NODE,
        "{switches} NVSwitches are on the PCI bus, and no nv-fabricmanager runs",
        Evidence(source="/sys/bus/pci/devices", values={"switches": switches}),
        Evidence(source="/proc", values={"processes": len(table.processes)}),
        variant="manager",
        switches=switches,
    )


def _seen(table: ProcessTable | Missing) -> bool:
    """Return whether the node's processes are seen; a container sees its own alone."""
    return not isinstance(table, Missing) and any(p.kernel for p in table.processes)


def _running(table: ProcessTable | Missing) -> bool:
    return not isinstance(table, Missing) and any(p.comm == COMM for p in table.processes)


def _versions(version: str, driver: str, table: ProcessTable | Missing) -> Finding:
    """Return that the program on disk is of another version: one that runs may be an older copy."""
    running = _running(table)
    return found(
        "fabric_manager_not_ready",
        "warning" if running else "info",
        NODE,
        "nv-fabricmanager on disk is {version}, the driver {driver}: it does not start like this",
        Evidence(source=f"{TOOL} --version", text=version),
        Evidence(source=asked.WHAT, values={"driver": driver, "running": running}),
        variant="version",
        version=version,
        driver=driver,
    )
