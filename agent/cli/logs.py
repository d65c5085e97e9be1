"""`gpudiag logs`: diagnose text on its own; needs no node."""

import gc
import sys
from typing import TYPE_CHECKING

import click

from agent.cli.language import lang

if TYPE_CHECKING:
    from diagnostics.document import Document


@click.command("logs")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as one JSON document.")
@click.option(
    "--all", "show_all", is_flag=True, help="Also list what is well and what does not apply."
)
@click.option("--follow", is_flag=True, help="Go on as FILE grows, and say what changes.")
@click.option("--plot", is_flag=True, help="Also draw the curves of the run: loss, step time ...")
@click.option(
    "--html", "page", metavar="FILE", help="Write diagnosis, curves and evidence as one page."
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
@lang
def command(
    *,
    files: tuple[str, ...],
    as_json: bool,
    show_all: bool,
    follow: bool,
    plot: bool,
    page: str | None,
    ascii_only: bool,
    color: str,
) -> int:
    """Say what the text of FILE tells: training output, plain or packed (.gz, .zst, .xz).

    FILE - is standard input. Exit status: 0 well, 1 warning, 2 fault, 3 unknown: a file could not
    be read to its end.

    With --follow it reads on as files grow, are cut short or replaced, until Ctrl-C, and tells the
    diagnosis each time that it changed: as JSON one document a line.
    """
    from diagnostics.document import STATUS  # noqa: PLC0415 - --help needs none of it

    def show(document: "Document") -> None:
        if page is not None:
            from agent.cli.html_file import write  # noqa: PLC0415 - wanted for a page only

            write(document, page)
        if as_json:
            sys.stdout.write(document.encode().decode() + "\n")
        else:
            from agent.cli import terminal  # noqa: PLC0415 - wanted for people only

            terminal.show(
                document, everything=show_all, ascii_only=ascii_only, color=color, curves=plot
            )
        sys.stdout.flush()

    if follow:
        from agent.cli.follow import follow as followed  # noqa: PLC0415 - as above

        return STATUS[followed(files, show).verdict]
    # One pass over some files makes no cycles: what would be looked at again and again are imports,
    # rules and points, a seventh of a short command.
    gc.disable()
    from agent.cli.log_files import diagnose  # noqa: PLC0415 - as above

    document = diagnose(files)
    show(document)
    return STATUS[document.verdict]
