r"""Which digits of a line an expression can tell from others.

An expression treats all digits alike but for those that stand in it, as in `Errno 28` or `[1-9]`.
Such a digit is looked for where the letters stand around it that stand around it there: only digits
of a line at such places can matter.
"""

import re
from functools import cache

from diagnostics.expression import Expression

TOKEN = Expression(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<group>\(\?P<\w+>|\(\?[a-zA-Z]*[:=!]"
    r"|\(\?<[=!]|\(\?[a-zA-Z]+\)|[()|^$.])|(?P<repeat>\{\d*(?:,\d*)?\}\??|[*+?]\??)"
    r"|(?P<letter>.)",
    re.DOTALL,
)
# What refers to what was matched before, or means something else altogether.
REFERS = Expression(r"\(\?P=|\\[1-9x0uUN]|\(\?\(|\(\?[a-zA-Z]*x|\(\?>")
ALL = frozenset("0123456789")


@cache
def asked(expression: str) -> frozenset[str] | None:
    """Return what stands in an expression around its digits, with zeros for those, in lower case.

    None where digits can matter anywhere.
    """
    if REFERS.search(expression):
        return None
    runs: list[list[str]] = [[]]
    for token in TOKEN.finditer(expression):
        if token.lastgroup == "repeat":
            # What is repeated, or can be absent, stands next to nothing for sure.
            last = runs[-1].pop() if runs[-1] else ""
            runs += [[last], []]
        elif (letter := _letter(token)) is None:
            runs.append([])
        else:
            runs[-1].append(letter)
    return frozenset("".join(run).lower() for run in runs if DIGIT in run)


DIGIT = "0"


def _letter(token: re.Match[str]) -> str | None:
    """Return the one letter that the token stands for, a zero for a digit, None for more."""
    text = token[0]
    match token.lastgroup:
        case "letter":
            return DIGIT if text in ALL else text
        case "escape":
            return None if text[1].isalnum() else text[1]
        case "set":
            return DIGIT if _parts(text) else None
        case _:
            return None


def _parts(text: str) -> bool:
    """Return whether a set has some of the digits and not all."""
    held = {digit for digit in ALL if re.match(text, digit)}
    return bool(held) and held != ALL
