"""`gpudiag net`: tests of the network that a person asks for, and the fabric's whole map."""

import asyncio
import json
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import click
import msgspec

from agent.cli.beside import taken
from agent.cli.errors import Mistake
from agent.cli.local import SOCKET
from agent.cli.run import SETTINGS, in_turns, open_node
from agent.settings.load import Settings, load
from agent.walk.report import build
from agent.walk.sources import by_shape
from agent.walk.walk import Gather
from agent.walk.walked import Walked
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.host.holders import GpuHolders
from collectors.jobs.running import JobsOnNode
from collectors.network.ibping import IbPings
from collectors.network.peers import Probe
from collectors.network.tcp import TcpAnswer, TcpAnswers
from collectors.network.topology import Cable, discover
from collectors.node.protocol import Node
from diagnostics.catalog import NETWORK
from diagnostics.check import Check
from diagnostics.checks.network.idle import busy
from diagnostics.document import STATUS, Document

PROBES = ("network.ibping", "network.ping", "network.full_mtu", "network.ssh")
MEASURES = ("network.bandwidth",)
# Ten pings that get no answer take six seconds, a TCP connection two.
PEER_S, LEAST_S = 15.0, 60.0
BANDWIDTH_S = 900.0
Answer = Probe | TcpAnswer
REMEMBERED: tuple[type[Observation], ...] = (IbPings, TcpAnswers)


@click.group("net", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Test this node's network on demand, or map the whole fabric."""


@command.command("test")
@click.option("--peers", is_flag=True, help="Probe every peer of the settings, one by one.")
@click.option("--bandwidth", is_flag=True, help="Measure the ways to them; no job may run here.")
@click.option(
    "--link",
    "device",
    is_flag=False,
    flag_value="all",
    metavar="[DEVICE]",
    help="Show modules, cables and bit error rates by mlxlink, of one adapter or all; needs root.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the document as JSON.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
@click.option("--config", "config", metavar="FILE", help=f"Settings (default: {SETTINGS}).")
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
def test(
    *,
    peers: bool,
    bandwidth: bool,
    device: str | None,
    as_json: bool,
    ascii_only: bool,
    color: str,
    config: str | None,
    path: str,
) -> int:
    """Look at ports and subnet manager; with --peers probe the peers, with --bandwidth fill lines.

    Exit status: 0 well, 1 warning, 2 fault, 3 unknown, 64 not possible now.
    """
    node, settings, _ = open_node(
        None, None, load(config or SETTINGS, must_exist=config is not None), ()
    )
    if device is not None:
        from agent.cli import net_link  # noqa: PLC0415 - costs start-up, wanted here only

        in_turns(node, path)
        return net_link.show(asyncio.run(net_link.asked(node, device)), as_json=as_json)
    if (peers or bandwidth) and not settings.peers:
        raise Mistake("no peers in the settings", "name them: [[network.peers]] in " + SETTINGS)
    in_turns(node, path)
    before = taken(path, REMEMBERED) if peers else {}
    if sys.stderr.isatty():
        sys.stderr.write(f"testing, at most {budget_s(settings, peers, bandwidth):.0f} s\n")
    checks = chosen(peers=peers, bandwidth=bandwidth)
    document = asyncio.run(examine(node, settings, checks, before))
    if as_json:
        sys.stdout.write(document.encode().decode() + "\n")
    else:
        from agent.cli.terminal import show  # noqa: PLC0415 - costs start-up, wanted for people only

        show(document, everything=True, ascii_only=ascii_only, color=color)
    return STATUS[document.verdict]


@command.command("topology")
@click.option("--json", "as_json", is_flag=True, help="Print the cables as one JSON list.")
@click.option("--config", "config", metavar="FILE", help=f"Settings (default: {SETTINGS}).")
def topology(*, as_json: bool, config: str | None) -> int:
    """List every cable of the InfiniBand fabric, from the switches' ends; needs root.

    It sweeps the whole fabric: one node is enough, and now and then.
    """
    settings = load(config or SETTINGS, must_exist=config is not None)
    node, _, _ = open_node(None, None, settings, ())
    cables = asyncio.run(_discovered(node))
    if isinstance(cables, Missing):
        raise Mistake(
            f"the fabric cannot be listed: {cables.why()}",
            "run it as root on a node with an ACTIVE InfiniBand port and infiniband-diags",
        )
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins(cables)) + "\n")
    else:
        sys.stdout.write("".join(f"{line(cable)}\n" for cable in cables))
    return 0


def line(cable: Cable) -> str:
    """Return one cable as a line; names are the fabric's, so nothing of them acts on a terminal."""
    from agent.cli.errors import printable  # noqa: PLC0415 - see above

    place = f"{printable(cable.switch)} port {cable.switch_port}"
    return f"{place:<36} {cable.width} {cable.speed:<8} {printable(cable.to)} port {cable.to_port}"


async def _discovered(node: Node) -> list[Cable] | Missing:
    try:
        return await discover(node)
    finally:
        await node.close()


def chosen(*, peers: bool, bandwidth: bool) -> tuple[Check, ...]:
    """Return the checks of the test."""
    left_out = (() if peers else PROBES) + (() if bandwidth else MEASURES)
    return tuple(check for check in NETWORK if check.name not in left_out)


def budget_s(settings: Settings, peers: bool, bandwidth: bool) -> float:  # noqa: FBT001 - a pair
    """Return how long the test may take."""
    return LEAST_S + len(settings.peers) * PEER_S * peers + BANDWIDTH_S * bandwidth


async def examine(
    node: Node,
    settings: Settings,
    checks: tuple[Check, ...],
    before: Mapping[type[Observation], tuple[Observation, float]],
) -> Document:
    """Run the checks over what is seen now; raises Mistake where a job is in the way."""
    try:
        names = {check.name for check in checks}
        peers, bandwidth = PROBES[0] in names, MEASURES[0] in names
        wanted = msgspec.structs.replace(settings.wanted(), patient=True, bandwidth=bandwidth)
        started, began = node.now(), node.monotonic()
        identity = await node.identity()
        gather = Gather(node, wanted, _sources(before))
        if bandwidth:
            await _refuse_if_busy(node, wanted)
        await gather.collect(checks, None, budget_s(settings, peers, bandwidth))
        results = tuple(check.run(gather.seen, settings.limits.get(check.name)) for check in checks)
        seconds = node.monotonic() - began
        walked = Walked(stage="network", results=results, seconds=seconds)
        return build([walked], identity, started=started, seconds=seconds, strict=False)
    finally:
        await node.close()


async def _refuse_if_busy(node: Node, wanted: Wanted) -> None:
    sources = by_shape()
    seen: dict[type[Observation], Observation | Missing] = {}

    async def look(shape: type[Observation]) -> Observation | Missing:
        if shape not in seen:
            told = [await look(after) for after in sources[shape].after]
            seen[shape] = await sources[shape].collect(node, wanted, *told)
        return seen[shape]

    jobs, holders = await look(JobsOnNode), await look(GpuHolders)
    assert isinstance(jobs, JobsOnNode | Missing)
    assert isinstance(holders, GpuHolders | Missing)
    if why := busy(jobs, holders):
        raise Mistake(
            f"no bandwidth is measured now: {why}",
            "drain the node, wait for its jobs to end, and repeat this command",
        )


def _sources(
    before: Mapping[type[Observation], tuple[Observation, float]],
) -> dict[type[Observation], Source]:
    """Return the sources; those of probes know what the agent has seen of the peers before."""
    sources = by_shape()
    for shape, (seen, age_s) in before.items():
        collect = partial(_remembering, sources[shape], seen, age_s)
        sources[shape] = msgspec.structs.replace(sources[shape], collect=collect)
    return sources


async def _remembering(
    source: Source,
    before: Any,  # noqa: ANN401 - of two shapes
    age_s: float,
    node: Node,
    wanted: Wanted,
) -> Observation | Missing:
    seen: Any = await source.collect(node, wanted)
    if isinstance(seen, Missing):
        return seen
    field = "probes" if isinstance(seen, IbPings) else "answers"
    known = {_way(one): one for one in getattr(before, field)}
    now = [_known_before(one, known.get(_way(one)), age_s) for one in getattr(seen, field)]
    marked: Observation = msgspec.structs.replace(seen, **{field: tuple(now)})
    return marked


def _way(one: Answer) -> tuple[str, ...]:
    """Return what was asked, and by which devices; a sample across rails is another way."""
    ends = (one.rail, one.peer_rail) if isinstance(one, Probe) else ()
    return (one.peer, one.target, *ends)


def _known_before(now: Answer, before: Answer | None, age_s: float) -> Answer:
    """Return what was answered now with what the agent knows: when it last was, who serves.

    And how the other end does with others, by its own agent.
    """
    if before is None:
        return now
    last = None if before.answered_s is None else before.answered_s + age_s
    if isinstance(now, Probe) and isinstance(before, Probe):
        theirs = before.theirs and msgspec.structs.replace(
            before.theirs, worked_s=before.theirs.worked_s + age_s
        )
        return msgspec.structs.replace(now, answered_s=last, serves=before.serves, theirs=theirs)
    return msgspec.structs.replace(now, answered_s=last)
