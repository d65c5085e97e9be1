"""`gpudiag run`: one walk on this node, on a root folder, or on a recording."""

import asyncio
import sys
from pathlib import Path

import click
import msgspec

from agent.cli.beside import Taken, ages, sources, taken
from agent.cli.errors import Mistake
from agent.cli.language import lang
from agent.cli.local import SOCKET
from agent.knowledge import SITE, Site, known, site
from agent.settings.load import Settings, load, parse
from agent.walk.report import aged, build
from agent.walk.walk import Selection, walk
from collectors.facts.answers import Files
from collectors.node.protocol import Node
from diagnostics.catalog import WALK
from diagnostics.document import STATUS, Document
from diagnostics.finding import STAGES
from diagnostics.knowledge import models, pages
from diagnostics.knowledge.pages import near

SETTINGS = "/etc/gpudiag/gpudiag.toml"
RULES = f"{SITE}/*.toml"


@click.command("run")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(STAGES),
    help="Walk this stage only; can be repeated.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="Run this check only; can be repeated.",
)
@click.option(
    "--log", "logs", multiple=True, metavar="FILE", help="A training log to read; can be repeated."
)
@click.option("--replay", metavar="DIR", help="Walk a recording instead of this machine.")
@click.option(
    "--root", metavar="DIR", help="Read the files below DIR; run no tool and ask no driver."
)
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as one JSON document.")
@click.option(
    "--all", "show_all", is_flag=True, help="Also list what is well and what does not apply."
)
@click.option(
    "--strict", is_flag=True, help="Anything unseen makes the verdict unknown (exit status 3)."
)
@click.option(
    "--ask-driver",
    is_flag=True,
    help="Ask the driver although the kernel log has a GSP timeout or a lost GPU.",
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
@click.option("--config", "config", metavar="FILE", help=f"Settings (default: {SETTINGS}).")
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
@lang
def command(  # noqa: PLR0913 - one parameter for each option that INTERFACES names
    *,
    stages: tuple[str, ...],
    checks: tuple[str, ...],
    logs: tuple[str, ...],
    replay: str | None,
    root: str | None,
    as_json: bool,
    show_all: bool,
    strict: bool,
    ask_driver: bool,
    ascii_only: bool,
    color: str,
    config: str | None,
    path: str,
) -> int:
    """Walk this node: incidents first, then the four stages, then what to do.

    Reads only. Exit status: 0 well, 1 warning, 2 fault, 3 unknown.
    """
    _known(checks)
    if replay and root:
        raise Mistake("--replay and --root exclude each other", "give one of them")
    settings = load(config or SETTINGS, must_exist=config is not None)
    node, settings, logs = open_node(replay, root, settings, logs)
    selection = Selection(stages=stages, checks=checks)
    seen: Taken = {}
    if replay is None and root is None:
        in_turns(node, path)
        # Who wants the driver asked whatever is known of it wants no older word of it.
        seen = {} if ask_driver else taken(path)
    document = asyncio.run(
        diagnose(node, settings, selection, logs, strict=strict, ask_driver=ask_driver, seen=seen)
    )
    if as_json:
        sys.stdout.write(document.encode().decode() + "\n")
    else:
        from agent.cli.terminal import show  # noqa: PLC0415 - costs start-up, wanted for people only

        show(document, everything=show_all, ascii_only=ascii_only, color=color)
    return STATUS[document.verdict]


def in_turns(node: Node, socket: str) -> None:
    """Let this node ask the BMC, the driver and SMART in turns with the agent of *socket*."""
    from collectors.node.live import Live  # noqa: PLC0415 - see open_node

    if isinstance(node, Live):
        node.take_turns(str(Path(socket).parent / "locks"))


def open_node(
    replay: str | None, root: str | None, settings: Settings, logs: tuple[str, ...]
) -> tuple[Node, Settings, tuple[str, ...]]:
    """Return the way to see the node that was asked for, with the settings that hold there."""
    from collectors.node import live, recorded  # noqa: PLC0415 - each brings what only it needs

    # Files of our own, which checks and document need: read here, as a running loop opens none.
    pages.load()
    models.load()
    if replay:
        try:
            node = recorded.Recorded(Path(replay))
        except recorded.RecordingError as problem:
            hint = "copy the recording again, then repeat this command; nothing was judged"
            raise Mistake(str(problem), hint) from None
        held = asyncio.run(node.files(SETTINGS))
        text = held.get(SETTINGS) if isinstance(held, Files) else None
        settings = parse(text or "", f"{replay}/files{SETTINGS}")
        own = asyncio.run(node.files(RULES))
        texts = own.texts if isinstance(own, Files) else {}
        rules = tuple((f"{replay}/files{path}", texts[path]) for path in sorted(texts))
        return node, _with_rules(settings, rules), logs or node.logs
    if root and not Path(root).is_dir():
        raise Mistake(
            f"{root} is not a folder", "give the folder that holds the node's /proc and /sys"
        )
    for log in logs:
        if not Path(log).is_file():
            raise Mistake(f"cannot read {log}: no such file", "give the log's path")
    settings = _with_rules(settings, site())
    return live.Live(root=root or "/", tools=settings.tools), settings, logs


def _with_rules(settings: Settings, rules: Site) -> Settings:
    """Return the settings with the site's rules; raises Mistake where one of them is broken."""
    if not rules:
        return settings
    known(rules)
    return msgspec.structs.replace(settings, rules=rules)


async def diagnose(
    node: Node,
    settings: Settings,
    selection: Selection,
    logs: tuple[str, ...],
    *,
    strict: bool,
    ask_driver: bool = False,
    seen: Taken | None = None,
) -> Document:
    """Walk the node once and return the document; what was *seen* is not asked again."""
    try:
        started, began = node.now(), node.monotonic()
        identity = await node.identity()
        wanted = settings.wanted(logs, ask_driver=ask_driver)
        given = seen or {}
        walked = await walk(node, wanted, selection, settings.limits, sources(given))
        document = build(
            walked,
            identity,
            started=started,
            seconds=node.monotonic() - began,
            strict=strict,
        )
        return aged(document, ages(given))
    finally:
        await node.close()


def _known(checks: tuple[str, ...]) -> None:
    names = [check.name for check in WALK]
    for name in checks:
        if name not in names:
            close = near(name, names)
            hint = f"did you mean {close}?" if close else "gpudiag explain checks lists them"
            raise Mistake(f"no such check: {name}", hint)
