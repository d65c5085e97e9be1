"""`gpudiag release-gpus`: have the daemon let go of the driver, and keep off for a while."""

import datetime as dt
import re

import click

from agent.cli.errors import Mistake
from agent.cli.local import SOCKET, Refused, Unanswered, ask

DEADLINE_S = 5.0
UNITS = {"s": 1, "m": 60, "h": 3600}
LASTS = re.compile(r"(\d{1,6})\s*([smh])")


def seconds(text: str) -> float:
    """Return what 90s, 30m or 2h is in seconds."""
    if text == "0":
        return 0.0
    if (hit := LASTS.fullmatch(text)) is None:
        raise Mistake(f"{text!r} is no time", "write 90s, 30m or 2h; 0 ends a release")
    return float(int(hit[1]) * UNITS[hit[2]])


@click.command("release-gpus")
@click.option(
    "--for",
    "lasts",
    metavar="TIME",
    default="30m",
    show_default=True,
    help="How long: 90s, 30m, 2h, at most 24h; 0 ends a release.",
)
@click.option("--socket", "path", default=SOCKET, envvar="GPUDIAG_SOCKET", hidden=True)
def command(*, lasts: str, path: str) -> int:
    """Let a driver upgrade, a GPU reset or a MIG change find the GPUs unused by the daemon.

    Done within 2 s; meanwhile the checks of GPUs are held back, which is no fault. Exit status: 0
    released, 1 something of ours hangs in the driver and holds it still.
    """
    try:
        question = {"ask": "release-gpus", "seconds": seconds(lasts)}
        answer = ask(question, path=path, deadline_s=DEADLINE_S)
    except Unanswered as why:
        hint = "without an agent nothing of gpudiag holds the driver"
        raise Mistake(f"{why} ({path})", hint) from None
    except Refused as why:
        raise Mistake(str(why), "repeat it as root") from None
    for left in answer["left"]:
        click.echo(f"still held by {left}: it hangs in the driver and cannot be ended")
    if answer["until"] is None:
        click.echo("the daemon asks the driver again")
    else:
        until = dt.datetime.fromtimestamp(answer["until"], tz=dt.UTC).astimezone()
        click.echo(f"the daemon keeps off the driver until {until:%H:%M:%S}")
    return 1 if answer["left"] else 0
