"""What the fleet commands print: a table for people, one JSON document for programs."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from agent.render.lines import Line

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
color = click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)


def document(value: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def drawn(drawing: Callable[[int], list[Line]], wish: str) -> None:
    """Print a page for people."""
    from agent.cli.terminal import write  # noqa: PLC0415 - for people only

    write(drawing, color=wish)


def listed(
    items: list[dict[str, Any]], drawing: Callable[[int], list[Line]], *, as_json: bool, color: str
) -> None:
    """Print a list, either way."""
    if as_json:
        document({"items": items})
    else:
        drawn(drawing, color)
