"""`gpudiag evidence INCIDENT`: one archive for the vendor; what jobs wrote is left out."""

import asyncio
import io
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from agent.cli.beside import Taken, sources, taken
from agent.cli.errors import Mistake
from agent.cli.incident import Found, find, opened
from agent.cli.local import SOCKET
from agent.outbox import privacy
from agent.settings.load import Settings
from agent.walk.walk import Gather
from collectors.bmc.events import BmcEvents
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.kernel.last_boot import LastBoot
from collectors.network.cards import Cards
from collectors.node.protocol import Node
from diagnostics.document import plain
from diagnostics.incidents.ticket import ticket

# Serial numbers, firmware, ECC counts, the BMC's log, the kernel's log, how the last boot ended.
SHAPES: tuple[type[Observation], ...] = (
    *(GpuSnapshot, GpuHealth, Bios, Cards),
    *(BmcEvents, KernelLog, LastBoot),
)
BUDGET_S = 20.0
MOST_RECORDS = 50_000
LARGEST = 32 << 20
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


@click.command("evidence")
@click.argument("name", metavar="INCIDENT")
@click.option("--replay", metavar="DIR", help="An incident of this recording.")
@click.option(
    "--output", metavar="FILE", help="The archive (default: gpudiag-FINGERPRINT.tar.gz here)."
)
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
def command(name: str, replay: str | None, output: str | None, path: str) -> int:
    """Write one archive about INCIDENT for whoever repairs the node.

    Serial numbers, firmware, ECC counts, the BMC's event log, the kernel log, and the text of a
    ticket. Text of jobs is left out. Readable by you alone; a file that exists is not written over.
    """
    found = find(name, replay, path)
    node, settings = opened(replay, path)
    seen = asyncio.run(_look(node, settings, {} if replay else taken(path)))
    target = Path(output or f"gpudiag-{found.incident.fingerprint}.tar.gz")
    parts = dict(_parts(found, seen))
    _write(target, parts)
    sys.stdout.write(f"{target}: {len(parts)} files, {target.stat().st_size:,} bytes\n")
    for missing in seen:
        if isinstance(missing, Missing):
            sys.stdout.write(f"not in it: {missing.what} ({missing.why()})\n")
    return 0


async def _look(node: Node, settings: Settings, known: Taken) -> list[Observation | Missing]:
    gather = Gather(node, settings.wanted(), sources(known))
    try:
        await gather.look(SHAPES, None, BUDGET_S)
    finally:
        await node.close()
    return [gather.seen[shape] for shape in SHAPES]


def _parts(found: Found, seen: list[Observation | Missing]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of the archive."""
    kept = privacy.document(plain(found.document), "none")
    ids = {found.incident.root, *found.incident.consequences}
    told = {
        "product": kept["product"],
        "node": kept["node"],
        "boot_id": kept["boot_id"],
        "incident": next(i for i in kept["incidents"] if i["id"] == found.incident.id),
        "findings": [finding for finding in kept["findings"] if finding["id"] in ids],
    }
    yield "incident.json", msgspec.json.format(msgspec.json.encode(told), indent=1)
    yield "ticket.txt", "\n".join([*ticket(found.document, found.incident), ""]).encode()
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


def _write(target: Path, parts: dict[str, bytes]) -> None:
    """Write the archive for its owner alone; a name that is taken is a mistake."""
    try:
        handle = os.open(target, FLAGS, 0o600)
    except FileExistsError:
        raise Mistake(f"{target} exists", "name another file with --output") from None
    with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(f"{target.name.removesuffix('.tar.gz')}/{name}")
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
