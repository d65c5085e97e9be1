"""`gpudiag explain ID`: what a fault, check, rule, remedy or incident is."""

import re
import sys
from collections.abc import Callable
from functools import partial

import click

from agent.cli.errors import Mistake
from agent.cli.language import lang
from agent.cli.local import SOCKET
from agent.cli.terminal import bears_glyphs, write
from agent.knowledge import every
from agent.render import explain as draw
from agent.render import plan
from agent.render.lines import Line
from diagnostics.catalog import WALK
from diagnostics.knowledge.aliases import codes, named
from diagnostics.knowledge.pages import load, near
from remediations.plan.catalog import REMEDIES

# i1, or a fingerprint.
INCIDENT = re.compile(r"i\d{1,6}|[0-9a-f]{16}")
Drawing = Callable[[int], list[Line]]


@click.command("explain")
@click.argument("name", metavar="ID")
@click.option("--replay", metavar="DIR", help="An incident of this recording.")
@click.option(
    "--acknowledge", is_flag=True, help="Note with the agent that you know of this incident."
)
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
@lang
def command(*, name: str, replay: str | None, acknowledge: bool, path: str) -> int:
    """Say what ID is: meaning, likeliest causes, first command, what not to do.

    ID is a fault, a check, a rule, a remedy, a code such as xid_79 or sxid_20034, or a setting such
    as NCCL_P2P_DISABLE; `explain faults`, `checks`, `rules`, `codes` or `remedies` lists them. Or
    it is an incident, by its id or its fingerprint: of this node's agent, or of a recording with
    --replay.
    """
    if replay or INCIDENT.fullmatch(name):
        return _incident(name, replay, path, acknowledge=acknowledge)
    names = listing()
    if name in names:
        sys.stdout.write("\n".join(sorted(names[name])) + "\n")
        return 0
    drawings = entries()
    wanted = name if name in drawings else named(name)
    if wanted not in drawings:
        close = near(name, [*drawings, *names])
        hint = f"did you mean {close}?" if close else "gpudiag explain faults lists the faults"
        raise Mistake(f"nothing is called {name}", hint)
    write(drawings[wanted])
    return 0


def _incident(name: str, replay: str | None, path: str, *, acknowledge: bool) -> int:
    """Tell the whole story of one incident."""
    from agent.cli.incident import acknowledged, find  # noqa: PLC0415 - a page of a fault needs no node
    from agent.render.incidents import story  # noqa: PLC0415 - same

    found = find(name, replay, path)
    if acknowledge and replay is None:
        found = acknowledged(found, path)
    plain = not bears_glyphs()
    write(lambda width: story(found.document, found.incident, width, ascii_only=plain))
    return 0


def listing() -> dict[str, list[str]]:
    """Return the ids by what they name."""
    return {
        "faults": list(load()),
        "checks": [check.name for check in WALK],
        "rules": [rule.id for rule in every()],
        "codes": list(codes()),
        "remedies": list(REMEDIES),
    }


def entries() -> dict[str, Drawing]:
    """Return every id with what draws its page at a width."""

    def of(kind: Callable[..., list[Line]], thing: object) -> Drawing:
        return lambda width: kind(thing, width)

    drawn = {name: of(draw.fault, page) for name, page in load().items()}
    drawn |= {name: partial(draw.code, name, row) for name, row in codes().items()}
    drawn |= {check.name: of(draw.check, check) for check in WALK}
    drawn |= {row.name: of(plan.remedy, row) for row in REMEDIES.values()}
    return drawn | {rule.id: of(draw.rule, rule) for rule in every()}
