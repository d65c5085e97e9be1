"""`gpudiag`: find the command, import it alone, turn every mistake into one clear line."""

import importlib
import os
import sys
from typing import NoReturn

import click

from agent.cli.errors import OWN_ERROR, USAGE, Mistake, leave, say

COMMANDS = {
    "run": "One walk on this node: what is broken, why, and what to do.",
    "logs": "Diagnose training, kernel or scheduler text on its own.",
    "job": "Why a job of this node is slow, hangs or is dead.",
    "explain": "What a fault, check, rule or incident is, and what to do about it.",
    "evidence": "One archive about an incident, for whoever repairs the node.",
    "record": "Make a recording of this node that can be replayed.",
    "status": "What the daemon of this node last saw, and how old it is.",
    "agent": "The daemon: watch this node, all the time.",
    "hook": "For the scheduler's prolog, epilog and health program.",
    "release-gpus": "Have the daemon let go of the driver for a while.",
    "net": "Test the network on demand, or map the InfiniBand fabric.",
    "remediate": "What could be done about the incidents of this node; acts only when asked.",
    "config": "The effective settings, and whether the file is right.",
    "fleet": "Ask and steer the aggregator: nodes, enrolment, maintenance, pause.",
}


class Lazy(click.Group):
    """A group whose commands are modules of agent.cli, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the page."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"agent.cli.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Offer the one near-miss of an unknown command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # noqa: PLC0415 - for a mistake alone

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else "gpudiag --help lists the commands"
            raise Mistake(f"no such command: {args[0]}", hint)
        return super().resolve_command(ctx, args)


@click.group(
    cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(message="%(version)s", version="gpudiag 0.1.0")
def cli() -> None:
    """Say why a GPU training node or job is in trouble, with its evidence."""


def main() -> NoReturn:
    """Run the command line; 64 for a mistake of the caller, 70 for one of ours."""
    # A scheduler drains the node where its hook fails: not for an upgrade that is half way.
    hook = sys.argv[1:2] == ["hook"]
    if not hook:
        _one_build()
    try:
        status = cli.main(prog_name="gpudiag", standalone_mode=False)
        sys.stdout.flush()
    except Mistake as mistake:
        leave(mistake.what, mistake.hint, excerpt=mistake.excerpt)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.ctx.get_help(), err=True)
        sys.exit(USAGE)
    except click.UsageError as wrong:
        leave(*_usage(wrong))
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except OSError as problem:
        _drop_output()
        leave(
            f"{problem.filename or 'output'}: {problem.strerror}", "make room or name another place"
        )
    except Exception as problem:
        if os.environ.get("GPUDIAG_DEBUG"):
            raise
        say(
            f"gpudiag itself failed: {problem!r}",
            "run it again with GPUDIAG_DEBUG=1 and report what it prints",
        )
        sys.exit(0 if hook else OWN_ERROR)
    sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """Let what is still buffered go nowhere: Python would complain again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(wrong: click.UsageError) -> tuple[str, str]:
    path = wrong.ctx.command_path if wrong.ctx else "gpudiag"
    hint = f"{path} --help shows how it is called"
    if isinstance(wrong, click.NoSuchOption):
        near = f"did you mean {wrong.possibilities[0]}?" if wrong.possibilities else hint
        return f"no such option: {wrong.option_name}", near
    message = wrong.format_message().rstrip(".")
    return message[:1].lower() + message[1:], hint


def _one_build() -> None:
    """Refuse to run on packages of two installations: flat names can collide."""
    import agent  # noqa: PLC0415 - looked at as modules, here only
    import aggregator  # noqa: PLC0415 - same
    import collectors  # noqa: PLC0415 - same
    import diagnostics  # noqa: PLC0415 - same
    import remediations  # noqa: PLC0415 - same

    ours = (agent, aggregator, collectors, diagnostics, remediations)
    homes = {(p.BUILD, str(p.__file__).rpartition("/")[0].rpartition("/")[0]) for p in ours}
    if len(homes) > 1:
        places = ", ".join(sorted({str(p.__file__) for p in ours}))
        leave(
            f"the packages of gpudiag do not belong together: {places}",
            "install gpudiag into a virtual environment of its own",
            OWN_ERROR,
        )
