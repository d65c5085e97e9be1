"""What one archive about an incident holds: no text of jobs, but all that a repair destroys."""

from collections.abc import Iterator, Sequence

import msgspec

from agent.outbox import privacy
from collectors.bmc.events import BmcEvents
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.kernel.last_boot import LastBoot
from collectors.network.cards import Cards
from diagnostics.document import Document, Incident, plain
from diagnostics.incidents.ticket import ticket

# Serial numbers, firmware, ECC counts, the BMC's log, the kernel's log, how the last boot ended.
SHAPES: tuple[type[Observation], ...] = (
    *(GpuSnapshot, GpuHealth, Bios, Cards),
    *(BmcEvents, KernelLog, LastBoot),
)
MOST_RECORDS = 50_000
LARGEST = 32 << 20


def parts(
    document: Document, incident: Incident, seen: Sequence[Observation | Missing]
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of the archive."""
    kept = privacy.document(plain(document), "none")
    ids = {incident.root, *incident.consequences}
    told = {
        "product": kept["product"],
        "node": kept["node"],
        "boot_id": kept["boot_id"],
        "incident": next(i for i in kept["incidents"] if i["id"] == incident.id),
        "findings": [finding for finding in kept["findings"] if finding["id"] in ids],
    }
    yield "incident.json", msgspec.json.format(msgspec.json.encode(told), indent=1)
    yield "ticket.txt", "\n".join([*ticket(document, incident), ""]).encode()
    for one in seen:
        if isinstance(one, KernelLog):
            yield "kernel.log", _kernel(one)
        elif not isinstance(one, Missing):
            data = msgspec.json.format(msgspec.json.encode(plain(one)), indent=1)
            yield f"{type(one).__name__}.json", data[:LARGEST]


def _kernel(log: KernelLog) -> bytes:
    """Return the kernel's own records: what programs wrote into its log may be a job's text."""
    records = list(log.by_kernel())[-MOST_RECORDS:]
    lines = [f"<{r.level}>[{r.boot_s:12.6f}] {r.text}\n" for r in records]
    return "".join(lines).encode("utf-8", "backslashreplace")[-LARGEST:]
