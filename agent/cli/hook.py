"""`gpudiag hook`: what a scheduler's programs run; fails open, always within a second.

A program that Slurm runs drains the node with any exit status but 0, so that every trouble of our
own ends in 0 and one line in the system log: a wrong call, an agent that is absent, stopped, stale
or of another version, a bug. Only a verdict can end in 1.
"""

import contextlib
import os
import socket
import sys

import click

from agent.cli.local import SOCKET, Refused, Unanswered, ask

DEADLINE_S = 1.0
FRESH_S = 60.0
DRAIN = 1
EVENTS = ("health", "prolog", "epilog")
SYSLOG = "/dev/log"
# Facility daemon (3 << 3), severity warning; RFC 3164.
PRIORITY = 3 << 3 | 4


@click.command(
    "hook",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> int:
    """Answer the scheduler: `health` is always 0; `prolog` and `epilog` are 1 to drain, else 0.

    1 only where [hook] drain of the settings names a fault that is critical, known, and was seen
    within the last minute. Without an answer of the agent in 1 s it is 0.
    """
    if set(words) & {"-h", "--help"}:
        click.echo(click.get_current_context().get_help())
        return 0
    return run(words)


def run(words: tuple[str, ...], *, path: str = "", syslog: str = SYSLOG) -> int:
    """Return the exit status for `gpudiag hook WORDS`; raises nothing."""
    try:
        if len(words) != 1 or words[0] not in EVENTS:
            raise Unanswered(f"{' '.join(words)[:80]!r} is none of {', '.join(EVENTS)}")  # noqa: TRY301 - one place says it
        place = path or os.environ.get("GPUDIAG_SOCKET", SOCKET)
        return _status(words[0], ask({"ask": "hook"}, path=place, deadline_s=DEADLINE_S), syslog)
    except (Unanswered, Refused) as why:
        _say(syslog, f"not asked: {why}; the job goes on")
    except Exception as problem:  # noqa: BLE001 - a bug of ours must not drain a fleet
        _say(syslog, f"failed: {problem!r:.200}; the job goes on")
    return 0


def _status(event: str, answer: dict[str, object], syslog: str) -> int:
    verdict, age, reasons = answer.get("verdict"), answer.get("age_s"), answer.get("drain")
    if not isinstance(age, int | float) or age >= FRESH_S:
        when = "none was finished yet" if age is None else f"the last ended {age:.0f} s ago"
        raise Unanswered(f"no walk of the last {FRESH_S:.0f} s, {when}")
    if event == "health" or not isinstance(reasons, list) or not reasons:
        click.echo(f"gpudiag: {verdict}, seen {age:.0f} s ago")
        return 0
    said = _line("; ".join(f"{reason['fault']}: {reason['message']}" for reason in reasons))[:400]
    # Slurm shows it in its log, and deploy/slurm/gpudiag-prolog makes the node's reason of it.
    click.echo(f"gpudiag: drain: {said}")
    _say(syslog, f"{event} takes the node out: {said}")
    return DRAIN


def _say(syslog: str, text: str) -> None:
    """Write one line to the system log; one that does not listen is not waited for."""
    line = _line(text)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"gpudiag hook: {line}\n")
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log,
    ):
        log.settimeout(0)
        log.connect(syslog)
        log.send(f"<{PRIORITY}>gpudiag-hook[{os.getpid()}]: {line}".encode()[:1000])


def _line(text: str) -> str:
    """Return *text* as one line of characters that can be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
