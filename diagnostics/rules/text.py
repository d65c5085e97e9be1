"""What makes two lines of a log count for the same."""

from collections import Counter
from collections.abc import Mapping

from diagnostics.rules.alike import STAMPED
from diagnostics.rules.dense import XID, Kind, lasting
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.line import LINE_CAP, decoded
from diagnostics.rules.search import Place
from diagnostics.rules.stamp import STAMP, hand

# Where a line bears one of these stamps, that alone says whose line it is.
TELLING = frozenset({"bsd", "since", "local", "delta", "tag", None})

# The sort of a line's stamp, whose line that makes it, and the text behind it.
Text = tuple[str | None, str | None, bytes]


def line_ends(piece: bytes) -> int:
    """Return how many line ends there are, in half the time that bytes.count takes."""
    return len(piece) - len(piece.replace(b"\n", b""))


def split(piece: bytes) -> list[bytes]:
    """Return the lines of a piece, without their ends."""
    lines = piece.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def split_alike(piece: bytes) -> tuple[list[bytes], Mapping[bytes, int]]:
    """Return the lines of a piece, and how often each comes.

    One line again and again, as a piece with all digits alike can be, is not looked at line by
    line.
    """
    first = piece[: piece.find(b"\n") + 1]
    if first and piece == first * (times := len(piece) // len(first)):
        return [first[:-1]] * times, {first[:-1]: times}
    lines = split(piece)
    return lines, Counter(lines)


def text_of(place: Place, *, stamped: bool) -> tuple[Text, int]:
    """Return what makes two lines count for the same, and where its text begins.

    In a training log nothing is believed for its stamp, and the whole line is its text.
    """
    piece, start = place.piece, place.start
    if not stamped:
        return (None, None, piece[start : place.stop]), min(start + STAMPED, place.stop)
    found = STAMP.match(piece, start, place.stop)
    assert found is not None, "each part of it can be absent"
    at, group = found.end(), found.lastgroup
    line = piece[at : place.stop]
    if line.startswith(XID):
        line = lasting(line)
    whose = None if group in TELLING and not found["level"] else hand(found)
    return (group, whose, line), at


def repeats(kind: Kind, plan: Plan) -> bool:
    """Return whether all lines of the kind count for the same."""
    if not plan.latest:
        return plan.repeats
    at = STAMP.match(kind.line)
    text = decoded(kind.line[at.end() if at else 0 :][:LINE_CAP])
    return plan.repeats and not any(rule.match(text) for rule in plan.latest)
