"""`gpudiag fleet enroll`: which machine has which name, and which one waits to be let in."""

import click

from agent.cli.fleet import output
from agent.cli.fleet.access import Options


@click.group("enroll", invoke_without_command=True)
@output.as_json
@output.color
@click.pass_context
def command(context: click.Context, *, as_json: bool, color: str) -> int | None:
    """List names with the machines that have them or wait for them; approve or revoke one.

    A machine that was installed anew, or claims a name that another one has, waits until somebody
    approves it.
    """
    if context.invoked_subcommand is not None:
        return None
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same

    items = ask(context.obj, "GET", "/v1/enrollments")["items"]
    output.listed(items, lambda width: fleet.enrolments(items, width), as_json=as_json, color=color)
    return 0


@command.command("approve")
@click.argument("node")
@click.pass_obj
def approve(options: Options, *, node: str) -> int:
    """Let the machine that waits under the name NODE have it; what had it loses its credential."""
    from agent.cli.fleet.client import ask, segment  # noqa: PLC0415 - help is instant without aiohttp

    found = ask(options, "POST", f"/v1/enrollments/{segment(node)}/approve")
    click.echo(f"{node}: machine {found['pending_machine']} is let in when it asks again")
    return 0


@command.command("revoke")
@click.argument("node")
@click.pass_obj
def revoke(options: Options, *, node: str) -> int:
    """Take the credentials of NODE away at once; to come back it has to be approved."""
    from agent.cli.fleet.client import ask, segment  # noqa: PLC0415 - help is instant without aiohttp

    ask(options, "DELETE", f"/v1/enrollments/{segment(node)}")
    click.echo(f"{node}: revoked; what it reports is refused from now on")
    return 0
