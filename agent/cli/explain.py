"""`gpudiag explain ID`: what a fault, check or rule is."""

import sys
from collections.abc import Callable
from functools import partial

import click

from agent.cli.errors import Mistake
from agent.cli.terminal import write
from agent.knowledge import every
from agent.render import explain as draw
from agent.render.lines import Line
from diagnostics.catalog import WALK
from diagnostics.knowledge.aliases import codes, named
from diagnostics.knowledge.pages import load, near

Drawing = Callable[[int], list[Line]]


@click.command("explain")
@click.argument("name", metavar="ID")
def command(name: str) -> int:
    """Say what ID is: meaning, likeliest causes, first command, what not to do.

    ID is a fault, a check, a rule, a code such as xid_79 or sxid_20034, or a setting such as
    NCCL_P2P_DISABLE; `explain faults`, `checks`, `rules` or `codes` lists them.
    """
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


def listing() -> dict[str, list[str]]:
    """Return the ids by what they name."""
    return {
        "faults": list(load()),
        "checks": [check.name for check in WALK],
        "rules": [rule.id for rule in every()],
        "codes": list(codes()),
    }


def entries() -> dict[str, Drawing]:
    """Return every id with what draws its page at a width."""

    def of(kind: Callable[..., list[Line]], thing: object) -> Drawing:
        return lambda width: kind(thing, width)

    drawn = {name: of(draw.fault, page) for name, page in load().items()}
    drawn |= {name: partial(draw.code, name, row) for name, row in codes().items()}
    drawn |= {check.name: of(draw.check, check) for check in WALK}
    return drawn | {rule.id: of(draw.rule, rule) for rule in every()}
