"""`gpudiag config`: is the settings file right, and what holds in the end."""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from agent.cli.run import SETTINGS, open_node
from agent.settings.environment import given, laid_over
from agent.settings.load import load
from remediations.policy import PATH


@click.group("config")
def command() -> None:
    """Check the settings, and show which hold."""


@command.command("check")
@click.argument("file", default=SETTINGS)
@click.option(
    "--acting",
    metavar="FILE",
    default=PATH,
    show_default=True,
    help="What may act here, and who may ask for it.",
)
def check(file: str, acting: str) -> int:
    """Say whether FILE, the site's rules and what may act can be used, and what could happen then.

    64 and the key that is wrong if not.
    """
    from agent.cli.config_acting import told  # noqa: PLC0415 - the remedies, for this page alone

    open_node(None, None, load(file, must_exist=file != SETTINGS), ())
    there = Path(file).exists()
    click.echo(f"{file} is right" if there else f"there is no {file}: the defaults hold")
    for line in told(acting):
        click.echo(line)
    return 0


@command.command("show")
@click.option("--config", "file", metavar="FILE", default=SETTINGS, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def show(*, file: str, as_json: bool) -> int:
    """Print every setting with its value and where it came from: file, variable or default."""
    from agent.settings.model import File  # noqa: PLC0415 - pydantic, for this page alone

    load(file, must_exist=file != SETTINGS)
    path = Path(file)
    said: dict[str, Any] = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    named = dict(_flat(said))
    over = given(os.environ)
    holds = dict(_flat(File.read(laid_over(said, os.environ), file).model_dump(mode="json")))
    rows = {
        key: {"value": value, "from": over.get(key, file if _said(key, named) else "default")}
        for key, value in holds.items()
    }
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return 0
    for key, row in rows.items():
        click.echo(f"{key} = {json.dumps(row['value'])}  # {row['from']}")
    return 0


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _said(key: str, named: Mapping[str, Any]) -> bool:
    return key in named or any(name.startswith(f"{key}.") for name in named)
