"""`gpudiag status`: what the daemon of this node last saw, and how old it is."""

import functools
import json
import pwd
import select
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from agent.cli.errors import Mistake
from agent.cli.language import lang
from agent.cli.local import SOCKET, Refused, Unanswered, ask
from diagnostics.document import STATUS

if TYPE_CHECKING:
    from agent.render.lines import Line

DEADLINE_S = 5.0
EVERY_S = 2.0
CLEAR = "\x1b[H\x1b[J"


@click.command("status")
@click.option("--watch", is_flag=True, help="Draw it anew every 2 s, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON document.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
@lang
def command(*, watch: bool, as_json: bool, ascii_only: bool, color: str, path: str) -> int:
    """Show what the daemon last saw: incidents, stages, GPUs, and how the daemon itself is.

    A user who is not root nor in the group gpudiag sees the node's health and his own jobs. Exit
    status: 0 well, 1 warning, 2 fault, 3 unknown or too old to tell, 64 no agent answers.
    """
    while True:
        answer = _answer(path)
        if as_json:
            sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        else:
            _draw(answer, ascii_only=ascii_only, color=color, again=watch)
        sys.stdout.flush()
        if not watch:
            return status(answer)
        # Waits for the time alone: no loop is there that a pause could hold up.
        select.select([], [], [], EVERY_S)


def _answer(path: str) -> dict[str, Any]:
    try:
        return ask({"ask": "status"}, path=path, deadline_s=DEADLINE_S)
    except Unanswered as why:
        hint = "systemctl start gpudiag-agent starts it; gpudiag run looks once without it"
        raise Mistake(f"{why} ({path})", hint) from None
    except Refused as why:
        raise Mistake(str(why), "use the gpudiag that belongs to the agent") from None


def _draw(answer: dict[str, Any], *, ascii_only: bool, color: str, again: bool) -> None:
    from agent.cli.terminal import bears_glyphs, write  # noqa: PLC0415 - costs start-up, for people only
    from agent.render.status import draw  # noqa: PLC0415 - same

    plain = ascii_only or not bears_glyphs()

    def drawing(width: int) -> "list[Line]":
        lines = draw(answer, width=width, ascii_only=plain, users=_user, live=again)
        return lines if not again else fitting(lines)

    if again and sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    write(drawing, color=color)


@functools.cache
def _user(uid: int) -> str:
    """Return a user's name, or his number where he has none on this node."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def fitting(lines: "list[Line]") -> "list[Line]":
    """Return as many lines as the terminal has: what scrolls away would be drawn anew each time."""
    from agent.render.lines import Span  # noqa: PLC0415 - costs start-up, for people only

    rows = shutil.get_terminal_size((80, 24)).lines - 1
    if not sys.stdout.isatty() or len(lines) <= rows:
        return lines
    left = len(lines) - rows + 1
    return [*lines[: rows - 1], (Span(f"and {left} lines more: the window is too low", "dim"),)]


def status(answer: dict[str, Any]) -> int:
    """Return the exit status: what is too old, or was never seen, is unknown."""
    from agent.render.status import late  # noqa: PLC0415 - see above

    age = answer["age_s"]
    if age is None or age > late(answer["agent"]["walk_s"]):
        return STATUS["unknown"]
    return STATUS[answer["diagnosis"]["verdict"]]
