"""`gpudiag agent`: the daemon on this node."""

import asyncio
import faulthandler
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent.cli.errors import Mistake
from agent.cli.local import SOCKET
from agent.cli.run import SETTINGS, in_turns, open_node
from agent.knowledge import kept, site
from agent.settings import apart
from agent.settings.join import joined
from agent.settings.load import Settings, load
from collectors.node.live import Live
from collectors.node.protocol import Node

if TYPE_CHECKING:
    from agent.daemon.log import Log
    from agent.daemon.reporting import Reporting

FOLDER = "/var/lib/gpudiag"


@click.command("agent")
@click.option("--config", "config", metavar="FILE", help=f"Settings (default: {SETTINGS}).")
@click.option("--state", "folder", metavar="DIR", default=FOLDER, show_default=True, help="State.")
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    default=SOCKET,
    show_default=True,
    envvar="GPUDIAG_SOCKET",
    help="Where status and hooks ask.",
)
def command(*, config: str | None, folder: str, path: str) -> int:
    """Watch this node until ended: walk every 30 s, answer `status` and `hook`, serve metrics.

    Reads only. HUP reads the settings anew, TERM ends it within 5 s. It belongs to systemd
    (deploy/systemd/gpudiag-agent.service); a person looks with `gpudiag status`.
    """
    from agent.daemon import alarm, endpoint, jobs, keeping, kernel, log, past, peer, probed  # noqa: PLC0415 - the daemon's alone
    from agent.daemon.parts import Parts  # noqa: PLC0415 - same
    from agent.daemon.service import Service  # noqa: PLC0415 - same
    from agent.walk.sources import SOURCES  # noqa: PLC0415 - same
    from collectors.kernel.following import Following  # noqa: PLC0415 - same

    def read() -> Settings:
        named, own = config is not None, site()
        settings = load(config or SETTINGS, must_exist=named, check=apart.checked)
        if not kept(own):
            apart.compiled(own)
        return open_node(None, None, settings, ())[1]

    # A watchdog's SIGABRT shows where the loop stood.
    faulthandler.enable()
    place = _folder(folder)
    node, settings, _ = open_node(None, None, read(), ())
    if isinstance(node, Live):
        node.share_helpers()
    in_turns(node, path)
    listening = endpoint.bind(Path(path))
    said, limit = log.configure()
    keeps, had = keeping.Keeping(place), past.KeptPast(place)
    answered = probed.KeptProbes(place, node.monotonic)
    bell, log_so_far = alarm.Alarm(), Following(keeps.state.kernel, keeps.heard)
    reporting = _reporting(node, settings, place, said)
    parts = Parts(
        node=node,
        sources=jobs.Jobs(bell.ring).behind(bell.behind(kernel.behind(log_so_far, SOURCES))),
        settings=settings,
        read=read,
        keeping=keeps,
        listening=listening,
        group=peer.trusted_group(),
        log=said,
        limit=limit,
        chance=random.Random(),  # noqa: S311 - spreads agents over time, keeps no secret
        reporting=reporting,
        past=had,
        alarm=bell,
        listen=log_so_far.listen,
        probed=answered,
    )

    async def whole() -> None:
        await Service(parts).run()

    try:
        asyncio.run(whole())
    finally:
        keeps.close()
        had.close()
        answered.close()
        listening.close()
        Path(path).unlink(missing_ok=True)
    return 0


def _folder(path: str) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise Mistake(
            f"cannot keep state in {path}: {problem.strerror}", "name a folder with --state"
        ) from None
    if not os.access(folder, os.W_OK):
        sys.stderr.write(f"{path} cannot be written: nothing will be remembered over a restart\n")
    return folder


def _reporting(node: Node, settings: Settings, folder: Path, log: "Log") -> "Reporting | None":
    report = joined(settings.report)
    if report.aggregator is None:
        return None
    # What speaks HTTP is 1.5 MiB, for those who report.
    from agent.daemon.reporting import Reporting  # noqa: PLC0415 - see above

    return Reporting(node, report, folder, log)
