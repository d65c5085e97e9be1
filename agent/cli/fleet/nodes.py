"""`gpudiag fleet nodes`: how every node is, and when it was heard last."""

import click

from agent.cli.fleet import output
from agent.cli.fleet.access import Options

STATES = ("ok", "late", "lost", "maintenance")
VERDICTS = ("ok", "warning", "fault", "unknown")


@click.command("nodes")
@click.argument("node", required=False)
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only these.")
@click.option(
    "--verdict", "verdicts", multiple=True, type=click.Choice(VERDICTS), help="Only these."
)
@output.as_json
@output.color
@click.pass_obj
def command(
    options: Options,
    *,
    node: str | None,
    states: tuple[str, ...],
    verdicts: tuple[str, ...],
    as_json: bool,
    color: str,
) -> int:
    """List the nodes, or show NODE with its findings, parts by serial number and events.

    A lost node's verdict is what it said last, not what is.
    """
    from agent.cli.fleet.client import ask, pages, segment  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same
    from agent.render.lines import Line  # noqa: PLC0415 - same

    if node is not None:
        found = ask(options, "GET", f"/v1/nodes/{segment(node)}")
        if as_json:
            output.document(found)
        else:
            output.drawn(lambda width: fleet.node(found, width), color)
        return 0
    items = [
        one
        for one in pages(options, "/v1/nodes")
        if (not states or one["state"] in states) and (not verdicts or one["verdict"] in verdicts)
    ]
    hot = [] if as_json else ask(options, "GET", "/v1/facility")["items"]

    def drawn(width: int) -> list[Line]:
        return [*fleet.hot(hot), *fleet.nodes(items, width)]

    output.listed(items, drawn, as_json=as_json, color=color)
    return 0
