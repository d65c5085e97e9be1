"""How a mistake is said: one line what is wrong, one line what to do."""

import sys
from collections.abc import Sequence
from typing import NoReturn

USAGE = 64
OWN_ERROR = 70


class Mistake(Exception):  # noqa: N818 - it is the user's, not ours
    """A wrong call, or a file that cannot be read: exit status 64.

    `excerpt` are the lines of the file around the place.
    """

    def __init__(self, what: str, hint: str, excerpt: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.excerpt = excerpt


def say(what: str, hint: str, excerpt: Sequence[str] = ()) -> None:
    """Print the lines on standard error; control characters of foreign text are shown."""
    between = "".join(f"{printable(line)}\n" for line in excerpt)
    sys.stderr.write(f"error: {printable(what)}\n{between} help: {printable(hint)}\n")


def leave(what: str, hint: str, status: int = USAGE, excerpt: Sequence[str] = ()) -> NoReturn:
    """Say it and end."""
    say(what, hint, excerpt)
    sys.exit(status)


def printable(text: str) -> str:
    """Return *text* with whatever a terminal would act on shown as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
