"""`gpudiag fleet maintenance`: nodes that people work on, whose silence is no news."""

import click

from agent.cli.fleet import output
from agent.cli.fleet.access import Options
from agent.render.words import moment


@click.group("maintenance", invoke_without_command=True)
@output.as_json
@output.color
@click.pass_context
def command(context: click.Context, *, as_json: bool, color: str) -> int | None:
    """List the nodes that people work on; begin or end it for one."""
    if context.invoked_subcommand is not None:
        return None
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same

    items = ask(context.obj, "GET", "/v1/maintenance")["items"]
    output.listed(
        items, lambda width: fleet.maintenances(items, width), as_json=as_json, color=color
    )
    return 0


@command.command("begin")
@click.argument("node")
@click.option(
    "--hours", type=click.FloatRange(0, 2160, min_open=True), default=4.0, show_default=True
)
@click.option("--reason", required=True, help="What is done there, for those who look.")
@click.pass_obj
def begin(options: Options, *, node: str, hours: float, reason: str) -> int:
    """Say that people work on NODE; again changes hours and reason."""
    found = _put(options, node, hours, reason)
    click.echo(f"{node}: maintenance until {moment(found['until'])}")
    return 0


@command.command("end")
@click.argument("node")
@click.pass_obj
def end(options: Options, *, node: str) -> int:
    """Say that the work on NODE is done."""
    _put(options, node, 0.0, "done")
    click.echo(f"{node}: maintenance is over")
    return 0


def _put(options: Options, node: str, hours: float, reason: str) -> dict[str, str]:
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp

    body = {"node": node, "hours": hours, "reason": reason}
    found: dict[str, str] = ask(options, "POST", "/v1/maintenance", body)
    return found
