"""The language that is spoken: English as the sources have it, or another by its catalogue."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diagnostics.messages.catalogue import Catalogue

# None is English, which needs no catalogue.
SPOKEN: ContextVar["Catalogue | None"] = ContextVar("SPOKEN", default=None)


def speak(language: str) -> None:
    """Have everything that is drawn from now on in *language*."""
    if language == "en":
        SPOKEN.set(None)
        return
    from diagnostics.messages.catalogue import load  # noqa: PLC0415 - gettext is paid for by who wants it

    SPOKEN.set(load(language))


def say(template: str, **args: Any) -> str:  # noqa: ANN401 - whatever the template names
    """Return *template*, a text of the renderer's own, filled in the language that is spoken."""
    spoken = SPOKEN.get()
    return template.format(**args) if spoken is None else spoken.say(template, args)


def sentence(english: str) -> str:
    """Return a sentence that a check or a page wrote, in the language that is spoken."""
    spoken = SPOKEN.get()
    return english if spoken is None else spoken.sentence(english)
