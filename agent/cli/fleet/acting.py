"""What may act on nodes, and what holds it back: pause, leases, the breaker."""

import click

from agent.cli.fleet import output
from agent.cli.fleet.access import Options

REASON = click.option(
    "--reason", default="no reason given", show_default=True, help="Why, for those who look."
)


@click.command("pause")
@REASON
@click.pass_obj
def pause(options: Options, *, reason: str) -> int:
    """Stop all acting on all nodes: no lease is given, and every node hears it within 30 s."""
    _paused(options, paused=True, reason=reason)
    click.echo("all acting is stopped; nodes hear it with their next heartbeat, within 30 s")
    return 0


@click.command("resume")
@REASON
@click.pass_obj
def resume(options: Options, *, reason: str) -> int:
    """Allow acting again, as the modes of the nodes have it."""
    _paused(options, paused=False, reason=reason)
    click.echo("acting is allowed again")
    return 0


def _paused(options: Options, *, paused: bool, reason: str) -> None:
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp

    ask(options, "POST", "/v1/pause", {"paused": paused, "reason": reason})


@click.group("leases", invoke_without_command=True)
@output.as_json
@output.color
@click.pass_context
def leases(context: click.Context, *, as_json: bool, color: str) -> int | None:
    """List the nodes that are out by us, and whether anything holds acting back."""
    if context.invoked_subcommand is not None:
        return None
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same

    held = {
        "items": ask(context.obj, "GET", "/v1/leases")["items"],
        "pause": ask(context.obj, "GET", "/v1/pause"),
        "breaker": ask(context.obj, "GET", "/v1/breaker"),
    }
    if as_json:
        output.document(held)
    else:
        output.drawn(lambda width: fleet.leases(held, width), color)
    return 0


@leases.command("end")
@click.argument("lease")
@click.pass_obj
def end(options: Options, *, lease: str) -> int:
    """End LEASE: its node no longer counts as out."""
    from agent.cli.fleet.client import ask, segment  # noqa: PLC0415 - help is instant without aiohttp

    ask(options, "DELETE", f"/v1/leases/{segment(lease)}")
    click.echo(f"{lease}: ended; its node no longer counts as out")
    return 0


@click.command("actions")
@click.argument("node", required=False)
@output.as_json
@output.color
@click.pass_obj
def actions(options: Options, *, node: str | None, as_json: bool, color: str) -> int:
    """List what was done to nodes and what was refused, the newest first; of NODE alone.

    The newest 200. Nothing can be changed or removed there.
    """
    from agent.cli.fleet.client import ask, segment  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same

    path = "/v1/actions" if node is None else f"/v1/actions?node={segment(node)}"
    found = ask(options, "GET", path)
    if as_json:
        output.document(found)
    else:
        output.drawn(lambda width: fleet.actions(found["items"], width), color)
    return 0


@click.group("breaker", invoke_without_command=True)
@output.as_json
@click.pass_context
def breaker(context: click.Context, *, as_json: bool) -> int | None:
    """Show whether the breaker is open, and by what.

    It opens where more than max(3, 2 %) of the nodes ask to be taken away within ten minutes:
    a false alarm everywhere looks like that.
    """
    if context.invoked_subcommand is not None:
        return None
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp
    from agent.render import fleet  # noqa: PLC0415 - same

    found = ask(context.obj, "GET", "/v1/breaker")
    if as_json:
        output.document(found)
    else:
        click.echo(fleet.switch("the breaker is open", "the breaker is closed", found))
    return 0


@breaker.command("reset")
@click.option("--reason", required=True, help="What was looked at; it is kept.")
@click.pass_obj
def reset(options: Options, *, reason: str) -> int:
    """Close the breaker, after somebody looked; requests are counted from now on."""
    from agent.cli.fleet.client import ask  # noqa: PLC0415 - help is instant without aiohttp

    ask(options, "POST", "/v1/breaker/reset", {"reason": reason})
    click.echo("the breaker is closed; who asks is counted from now on")
    return 0
