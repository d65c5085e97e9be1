"""The option `--lang`: in which language people are told; JSON is English whatever it says."""

import os
import sys

import click

from agent.cli.errors import Mistake
from agent.render.language import speak

LANGUAGES = ("en", "zh")
# As gettext looks for it: the first that is set decides.
VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def of_locale() -> str:
    """Return the language of the environment, English where none of ours is meant or drawn."""
    named = next((value for name in VARIABLES if (value := os.environ.get(name))), "")
    wanted = named.partition("_")[0].partition(".")[0].lower()
    if wanted not in LANGUAGES:
        return "en"
    # The console of Linux has no Chinese glyphs, and an ASCII stream would show escapes.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return wanted if utf8 and os.environ.get("TERM") not in {"dumb", "linux"} else "en"


def _speak(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
    del ctx, option
    lacking = speak(value or of_locale())
    if lacking and value:
        what = ", ".join(lacking)
        hint = "install gpudiag anew, or in its source tree: make messages"
        raise Mistake(f"the catalogue of --lang {value} lacks its parts {what}", hint)
    if lacking:
        speak("en")


lang = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    callback=_speak,
    expose_value=False,
    help="Language of what is drawn (default: of LC_ALL, LC_MESSAGES or LANG).",
)
