"""`gpudiag evidence INCIDENT`: one archive for the vendor; what jobs wrote is left out."""

import asyncio
import io
import os
import sys
import tarfile
from pathlib import Path

import click

from agent.bundle import SHAPES, parts
from agent.cli.beside import Taken, sources, taken
from agent.cli.errors import Mistake
from agent.cli.incident import find, opened
from agent.cli.local import SOCKET
from agent.settings.load import Settings
from agent.walk.walk import Gather
from collectors.facts.observation import Missing, Observation
from collectors.node.protocol import Node

BUDGET_S = 20.0
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
    whole = dict(parts(found.document, found.incident, seen))
    _write(target, whole)
    sys.stdout.write(f"{target}: {len(whole)} files, {target.stat().st_size:,} bytes\n")
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


def _write(target: Path, whole: dict[str, bytes]) -> None:
    """Write the archive for its owner alone; a name that is taken is a mistake."""
    try:
        handle = os.open(target, FLAGS, 0o600)
    except FileExistsError:
        raise Mistake(f"{target} exists", "name another file with --output") from None
    with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in whole.items():
            entry = tarfile.TarInfo(f"{target.name.removesuffix('.tar.gz')}/{name}")
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
