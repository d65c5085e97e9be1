"""The word that a line must hold for a pattern: looking for a word is fast, a search is not."""

import re

from diagnostics.rules.digits import TOKEN

# Letters in either case, spaces that count for nothing, or what was matched before.
OTHERWISE = re.compile(r"\(\?[a-zA-Z]*\)|\(\?P=|\(\?\(|\\[0-9xuUN]")


def needed(expression: str) -> str:
    """Return the longest text that stands in all that an expression matches; empty if none does.

    Only what stands outside of all groups is looked at.
    """
    if OTHERWISE.search(expression):
        return ""
    runs, depth = [""], 0
    for token in TOKEN.finditer(expression):
        text = token[0]
        depth += text.startswith("(") - (text == ")")
        if token.lastgroup == "repeat":
            # What is repeated can be absent, and what comes next then stands elsewhere.
            runs[-1] = runs[-1][:-1]
            runs.append("")
        elif depth == 0 and text == "|":
            return ""
        elif depth == 0 and token.lastgroup == "letter":
            runs[-1] += text
        elif depth == 0 and token.lastgroup == "escape" and not text[1].isalnum():
            runs[-1] += text[1]
        else:
            runs.append("")
    return max(runs, key=len)
