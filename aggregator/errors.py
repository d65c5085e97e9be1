"""How a mistake is said: one line what is wrong, one line what to do."""

import sys
from typing import NoReturn

USAGE = 64
OWN_ERROR = 70


class Mistake(Exception):  # noqa: N818 - it is the user's, not ours
    """A wrong call, or a file that cannot be read: exit status 64."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def leave(what: str, hint: str, status: int = USAGE) -> NoReturn:
    """Print the two lines on standard error and end; control characters are shown."""
    sys.stderr.write(f"error: {printable(what)}\n help: {printable(hint)}\n")
    sys.exit(status)


def printable(text: str) -> str:
    """Return *text* with whatever a terminal would act on shown as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
