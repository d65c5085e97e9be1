"""`gpudiag logs`: diagnose text on its own; needs no node."""

import sys

import click


@click.command("logs")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as one JSON document.")
@click.option(
    "--all", "show_all", is_flag=True, help="Also list what is well and what does not apply."
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII only.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Colour (default: auto).",
)
def command(
    *, files: tuple[str, ...], as_json: bool, show_all: bool, ascii_only: bool, color: str
) -> int:
    """Say what the text of FILE tells: training output, plain or packed (.gz, .zst, .xz).

    FILE - is standard input. Exit status: 0 well, 1 warning, 2 fault, 3 unknown: a file could not
    be read to its end.
    """
    from agent.cli.log_files import diagnose  # noqa: PLC0415 - --help needs none of it
    from diagnostics.document import STATUS  # noqa: PLC0415 - same

    document = diagnose(files)
    if as_json:
        sys.stdout.write(document.encode().decode() + "\n")
    else:
        from agent.cli.terminal import show  # noqa: PLC0415 - wanted for people only

        show(document, everything=show_all, ascii_only=ascii_only, color=color)
    return STATUS[document.verdict]
