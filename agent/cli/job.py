"""`gpudiag job ID`: why a job of this node is slow, hangs or is dead."""

import asyncio
import sys

import click

from agent.cli.beside import Taken, taken
from agent.cli.errors import Mistake
from agent.cli.language import lang
from agent.cli.local import SOCKET
from agent.cli.run import SETTINGS, diagnose, in_turns, open_node
from agent.settings.load import Settings, load
from agent.walk.of_job import Job, of_job
from agent.walk.sources import by_shape
from agent.walk.walk import Gather, Selection
from collectors.facts.observation import Missing
from collectors.jobs.job_logs import JobLogs
from collectors.jobs.ranks import LocalRanks
from collectors.node.protocol import Node
from diagnostics.document import STATUS, Document

BUDGET_S = 10.0


@click.command("job")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as one JSON document.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
@click.option("--config", "config", metavar="FILE", help=f"Settings (default: {SETTINGS}).")
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
@lang
def command(
    *, name: str, as_json: bool, ascii_only: bool, color: str, config: str | None, path: str
) -> int:
    """Say why the job ID is slow, hangs or is dead: what this node knows of it.

    ID is the scheduler's; of a job without one, the pid of what started its ranks. It walks this
    node, so that it needs the rights of `gpudiag run`; other nodes of the job are not asked. Exit
    status: 0 well, 1 warning, 2 fault, 3 unknown, 64 where the job has no rank on this node.
    """
    settings = load(config or SETTINGS, must_exist=config is not None)
    node, settings, _ = open_node(None, None, settings, ())
    in_turns(node, path)
    document = asyncio.run(_diagnosed(node, settings, name, taken(path)))
    if as_json:
        sys.stdout.write(document.encode().decode() + "\n")
    else:
        from agent.cli.terminal import show  # noqa: PLC0415 - costs start-up, wanted for people only

        show(document, everything=False, ascii_only=ascii_only, color=color)
    return STATUS[document.verdict]


async def _diagnosed(node: Node, settings: Settings, name: str, seen: Taken) -> Document:
    job = await _sought(node, settings, name)
    document = await diagnose(node, settings, Selection(), (), strict=False, seen=seen)
    return of_job(document, job)


async def _sought(node: Node, settings: Settings, name: str) -> Job:
    """Return the job of that name; raises Mistake where it has no rank here."""
    gather = Gather(node, settings.wanted(()), by_shape())
    ranks, logs = [await gather.one(shape, BUDGET_S) for shape in (LocalRanks, JobLogs)]
    if isinstance(ranks, Missing):
        await node.close()
        raise Mistake(f"cannot see whose processes run here: {ranks.why()}", "run it as root")
    assert isinstance(ranks, LocalRanks)
    jobs = ranks.jobs()
    known = name if name in jobs else f"pid {name}"
    if known not in jobs:
        await node.close()
        here = ", ".join(jobs) or "no job at all"
        hint = f"here runs {here}; run it on one of the job's nodes"
        raise Mistake(f"job {name} has no rank on this node", hint)
    files = logs.logs if isinstance(logs, JobLogs) else ()
    return Job(
        name=known,
        pids=frozenset(rank.pid for rank in jobs[known]),
        ranks=tuple(rank.rank for rank in jobs[known] if rank.rank is not None),
        minors=frozenset(minor for rank in jobs[known] for minor in rank.gpus),
        logs=frozenset(log.path for log in files if log.job == known),
    )
