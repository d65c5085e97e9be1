"""Do adapters say of themselves that they are well, and run the firmware that they hold."""

from collections.abc import Iterator

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.devlink import AdapterFirmware, AdapterHealth, Reporter
from collectors.network.ports import Port, Ports
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

HEALTHY = "healthy"
# What stands for the whole adapter; others (tx, rx) are of one queue.
WHOLE = ("fw", "fw_fatal")
FATAL = "fw_fatal"


@check(
    "network.adapters",
    stage="network",
    faults=("ib_hca_fatal", "hca_firmware_pending"),
    proved="documented",
)
def adapters(seen: AdapterHealth, ports: Ports | Missing) -> Iterator[Statement]:
    """No adapter's own health reporter is in error, and none waits for a reset to change firmware.

    The driver asks the firmware for its health by itself and keeps what it heard: it is there after
    the kernel log is not. An error that was recovered from is a note; it ended what ran then.
    """
    yield from (Unseen(missing=missing) for missing in seen.silent)
    if not seen.reporters and not seen.firmware:
        if not seen.silent:
            yield NotApplicable(why="no RDMA adapter tells devlink of its health")
        return
    listed = () if isinstance(ports, Missing) else ports.ports
    cards = {port.pci: port for port in listed if port.pci}
    findings = [
        *(one for row in seen.reporters if (one := _reported(row, cards.get(row.pci)))),
        *(_pending(row, cards.get(row.pci)) for row in seen.firmware if row.pending),
    ]
    yield from findings
    if not any(one.severity != "info" for one in findings):
        count = len({row.pci for row in seen.reporters} | {row.pci for row in seen.firmware})
        yield Well(message=f"{count} adapters, {len(seen.reporters)} health reporters")


def _reported(row: Reporter, port: Port | None) -> Finding | None:
    if row.state == HEALTHY and not (row.errors and row.name in WHOLE):
        return None
    lasting = row.state != HEALTHY
    words = (
        "adapter {name}: its health reporter {reporter} is in state {state}"
        if lasting
        else "adapter {name}: its health reporter {reporter} is {state} again, after {errors} "
        "errors since the driver was loaded"
    )
    return found(
        "ib_hca_fatal",
        ("critical" if row.name == FATAL else "warning") if lasting else "info",
        Subject(kind="nic", name=row.pci),
        words,
        Evidence(
            source=f"devlink health show pci/{row.pci} reporter {row.name}",
            values={
                "state": row.state,
                "errors": row.errors,
                "recoveries": row.recoveries,
                "device": port.device if port else None,
                "netdevs": list(port.netdevs) if port else [],
            },
        ),
        variant="reporter" if lasting else "recovered",
        confidence=0.9,
        name=port.device if port else row.pci,
        reporter=row.name,
        state=row.state,
        errors=row.errors,
    )


def _pending(row: AdapterFirmware, port: Port | None) -> Finding:
    return found(
        "hca_firmware_pending",
        "info",
        Subject(kind="nic", name=row.pci),
        "adapter {name} runs firmware {running}; {stored} is in its flash and runs after a reset",
        Evidence(
            source=f"devlink dev info pci/{row.pci}",
            values={"running": row.running, "stored": row.stored, "psid": row.psid},
        ),
        name=port.device if port else row.pci,
        running=row.running,
        stored=row.stored,
    )
