"""The language that is spoken: English as the sources have it, or another by its catalogue."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diagnostics.messages.catalogue import Catalogue

# None is English, which needs no catalogue.
SPOKEN: ContextVar["Catalogue | None"] = ContextVar("SPOKEN", default=None)


def speak(language: str) -> tuple[str, ...]:
    """Have everything that is drawn from now on in *language*; return what its catalogue lacks."""
    if language == "en":
        SPOKEN.set(None)
        return ()
    from diagnostics.messages.catalogue import load  # noqa: PLC0415 - gettext is paid for by who wants it

    spoken = load(language)
    SPOKEN.set(spoken)
    return spoken.missing


def say(template: str, **args: Any) -> str:  # noqa: ANN401 - whatever the template names
    """Return *template*, a text of the renderer's own, filled in the language that is spoken."""
    spoken = SPOKEN.get()
    return template.format(**args) if spoken is None else spoken.say(template, args)


def known(english: str) -> bool:
    """Return whether a text can be said in the language that is spoken."""
    spoken = SPOKEN.get()
    return spoken is None or spoken.has(english)


def language() -> str:
    """Return the language that is spoken as HTML names it."""
    spoken = SPOKEN.get()
    return "en" if spoken is None else spoken.language


def sentence(english: str) -> str:
    """Return a sentence that a check or a page wrote, in the language that is spoken."""
    spoken = SPOKEN.get()
    return english if spoken is None else spoken.sentence(english)
