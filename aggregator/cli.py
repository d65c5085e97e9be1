"""`gpudiag-aggregator`: serve, token create, migrate."""

import asyncio
import fcntl
import gc
import importlib
import importlib.util
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from aggregator.errors import OWN_ERROR, USAGE, Mistake, leave

CONFIG = click.option("--config", help="Settings file; /etc/gpudiag/aggregator.toml if it exists.")
# As the kernel cuts it, at 15 letters.
NAME = "gpudiag-aggrega"
DATA = click.option("--data", help="Folder of the database.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(message="%(version)s", version="gpudiag 0.1.0")
def cli() -> None:
    """Hear what the agents of a fleet report, and answer who asks about it."""


@cli.command()
@CONFIG
@DATA
@click.option("--listen", metavar="ADDRESS:PORT", help="127.0.0.1:9837 unless given.")
@click.option("--insecure", is_flag=True, default=None, help="Listen without TLS for others too.")
def serve(config: str | None, **options: object) -> None:
    """Serve until SIGTERM; SIGHUP reads settings and certificates again."""
    from aggregator import logs, serving, settings  # noqa: PLC0415 - help is instant without them
    from aggregator.store.sqlite import SqliteStore  # noqa: PLC0415 - same

    chosen = settings.load(config, **options)
    chosen.address()
    logs.configure()
    named(NAME)
    with alone(folder(chosen.data)):
        path = chosen.data / serving.FILE

        async def run() -> None:
            server = serving.Server(
                chosen, SqliteStore(path), lambda: settings.load(config, **options)
            )
            await server.run()

        with broken(path):
            SqliteStore.prepare(path)
        # SQLite lets go of the interpreter in each statement, and a busy loop gives it back only
        # after this time: with the usual 5 ms the writer would wait longer than it writes.
        sys.setswitchinterval(0.0002)
        # Bodies make thousands of short-lived objects, none of them in cycles: with the usual 700 a
        # collection looks through all that is imported several times in each batch.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run())


def named(name: str) -> None:
    """Have the kernel call this process *name*: started by python -m, it would be `python`.

    No agent takes a node away on which a process of this name runs.
    """
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def loop_factory() -> Any:  # noqa: ANN401 - uvloop is optional and brings its own types
    """Return uvloop's loop where it is installed: TLS takes a seventh of the memory there."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    return importlib.import_module("uvloop").new_event_loop


@cli.command()
@CONFIG
@DATA
def migrate(config: str | None, **options: object) -> None:
    """Bring the database to this release's schema; the server does it at its start too."""
    from aggregator import serving, settings  # noqa: PLC0415 - help is instant without them
    from aggregator.store.sqlite import migrations  # noqa: PLC0415 - same

    chosen = settings.load(config, **options)
    with alone(folder(chosen.data)), broken(chosen.data / serving.FILE):
        before, after = migrations.migrate(chosen.data / serving.FILE)
    click.echo(f"schema {before} -> {after}" if before != after else f"schema {after}, up to date")


@cli.group()
def token() -> None:
    """Make credentials."""


@token.command()
@CONFIG
@DATA
@click.option(
    "--role",
    required=True,
    type=click.Choice(["join", "viewer", "operator", "admin", "node"]),
    help="join: for nodes to enrol with.",
)
@click.option("--name", help="What it is for; the role unless given.")
@click.option(
    "--hours", type=click.FloatRange(0, 87_600, min_open=True), help="24 h for join, 90 d."
)
@click.option("--uses-per-node", type=click.IntRange(1, 10), default=1, help="How often one name.")
@click.option("--url", help="Where nodes reach this server; it is put behind a join token.")
@click.option("--node", help="The node of a credential of the role node.")
def create(config: str | None, data: str | None, role: str, **options: Any) -> None:  # noqa: ANN401 - click's values, typed below
    """Make one and print it, this once; it works at once beside a running server."""
    from aggregator import credentials, serving, settings  # noqa: PLC0415 - help is instant without them
    from aggregator.store.sqlite import access, migrations  # noqa: PLC0415 - same

    node: str | None = options["node"]
    if (role == "node") != (node is not None):
        raise Mistake("--node goes with --role node", "gpudiag-aggregator token create --help")
    url = _joining(role, options["url"])
    chosen = settings.load(config, data=data)
    hours = options["hours"] or (24.0 if role == "join" else 24.0 * 90)
    made, text = credentials.make(
        role,  # type: ignore[arg-type]  # click.Choice holds it to the roles
        options["name"] or node or role,
        time.time(),
        hours * 3600,
        node=node,
        uses_per_node=options["uses_per_node"],
    )
    path = folder(chosen.data) / serving.FILE
    with broken(path):
        migrations.migrate(path)
        with closing(migrations.connect(path)) as connection:
            access.put(connection, made)
    click.echo(f"{text} {url}" if url else text)


def _joining(role: str, url: str | None) -> str | None:
    if url is None:
        return None
    if role != "join" or re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url) is None:
        hint = "gpudiag-aggregator token create --role join --url https://agg-1:9837"
        raise Mistake("--url goes with --role join, and is http:// or https://", hint)
    return url.rstrip("/")


def folder(path: Path) -> Path:
    """Return the folder of the database, made where it is missing, for its owner alone."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise Mistake(f"cannot make {path}: {problem.strerror}", "give another --data") from None
    return path


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the folder: two servers on one database would each believe their own memory."""
    from aggregator.store.sqlite.migrations import make  # noqa: PLC0415 - help is instant without it

    make(path / "lock")
    with (path / "lock").open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Mistake(f"{path} is used by another server", "stop it first") from None
        yield


@contextmanager
def broken(path: Path) -> Iterator[None]:
    """Say in one line what a database does not do."""
    try:
        yield
    except sqlite3.Error as problem:
        raise Mistake(f"{path}: {problem}", "restore it from a copy, or move it away") from None


def main() -> NoReturn:
    """Run the command line; 64 for a mistake of the caller, 70 for one of ours."""
    try:
        cli.main(prog_name="gpudiag-aggregator", standalone_mode=False)
    except Mistake as mistake:
        leave(mistake.what, mistake.hint)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.ctx.get_help(), err=True)
        sys.exit(USAGE)
    except click.UsageError as wrong:
        message = wrong.format_message().rstrip(".")
        path = wrong.ctx.command_path if wrong.ctx else "gpudiag-aggregator"
        leave(message[:1].lower() + message[1:], f"{path} --help shows how it is called")
    except click.Abort:
        sys.exit(130)
    except OSError as problem:
        leave(
            f"{problem.filename or 'output'}: {problem.strerror}", "make room or change its rights"
        )
    except Exception as problem:
        if os.environ.get("GPUDIAG_DEBUG"):
            raise
        leave(
            f"gpudiag-aggregator itself failed: {problem!r}",
            "run it again with GPUDIAG_DEBUG=1 and report what it prints",
            OWN_ERROR,
        )
    sys.exit(0)
