"""`gpudiag fleet`: ask and steer the aggregator.

`access` says which one, and as whom; `client` asks; the others are the commands.
"""

import click

from agent.cli.fleet import acting, enrolling, maintaining, nodes
from agent.cli.fleet.access import Options


@click.group("fleet")
@click.option("--aggregator", metavar="URL", help="Where it serves (http://127.0.0.1:9837).")
@click.option("--token-file", metavar="FILE", help="Your credential (~/.config/gpudiag/token).")
@click.option("--ca", metavar="FILE", help="PEM file of the authority that signed its certificate.")
@click.option("--config", metavar="FILE", help="Settings (~/.config/gpudiag/fleet.toml).")
@click.pass_context
def command(context: click.Context, /, **given: str | None) -> None:
    """Ask and steer the aggregator.

    A credential comes from its machine: gpudiag-aggregator token create --role viewer (to look) or
    operator (to steer).

    Options win over GPUDIAG_FLEET_AGGREGATOR, _TOKEN, _TOKEN_FILE, _CA,
    _CERTIFICATE and _KEY, these over ~/.config/gpudiag/fleet.toml, and without that one
    /etc/gpudiag/fleet.toml.

    Exit status: 0 done, 64 refused, not reached or a wrong call.
    """
    context.obj = Options(**given)


for _one in (
    nodes.command,
    enrolling.command,
    maintaining.command,
    acting.pause,
    acting.resume,
    acting.leases,
    acting.actions,
    acting.breaker,
):
    command.add_command(_one)
