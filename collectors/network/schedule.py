"""Whom a node probes when: a tournament that every node works out by itself, and alike.

All nodes of a rail play a round-robin by the circle method: in each round every node meets exactly
one other, and after as many rounds as there are others it has met them all. So nothing has to be
agreed over the network, and however many nodes there are, none is probed by two at once. Of each
pair one asks; the next time that they meet, the other does.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

ROUND_S = 300.0
# A failed probe is followed by two more of the same node, each with its own time in the turn.
STEPS = 3
# Within its time each pair begins at a moment of its own, in the first part of it.
SPREAD = 0.3
ACROSS = "across"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One probe that this node is to make: `starts` in seconds since the epoch.

    `rail` is its own end, `peer_rail` that of `peer`. `instead` are (when, whom) for the two that
    may be asked afterwards, should `peer` not answer.
    """

    round: int
    starts: float
    rail: str
    peer: str
    peer_rail: str
    instead: tuple[tuple[float, str], ...] = ()


def partner(index: int, count: int, turn: int) -> int | None:
    """Return whom number *index* of *count* meets in round *turn*; None where it has a rest."""
    others = (count + 1) // 2 * 2 - 1
    if others < 1 or count < 2:  # noqa: PLR2004 - nobody to meet
        return None
    if index == others:
        met = turn * (others + 1) // 2 % others
    else:
        met = (turn - index) % others
        met = others if met == index else met
    return met if met < count else None


def asks(index: int, met: int, count: int, turn: int) -> bool:
    """Return whether *index* is the one of the two who asks: they take turns at it."""
    others = (count + 1) // 2 * 2 - 1
    return (index < met) == ((turn // others + index + met) % 2 == 0)


def turns(own: str, rails: Mapping[str, Sequence[str]], number: int) -> Iterator[Turn]:
    """Yield what *own* has to do in round *number*, in the order of time.

    *rails* holds the names of all nodes by rail, *own* among them. Each rail has its part of the
    round; a last part is for one sample from a rail to another one.
    """
    names = sorted(rails)
    parts = len(names) + (len(names) > 1)
    for place, rail in enumerate(names):
        nodes = sorted(set(rails[rail]))
        yield from _turn(own, nodes, number, (place, parts), (rail, rail))
    if len(names) > 1:
        ours, theirs = _across(names, number)
        nodes = sorted(set(rails[ours]) & set(rails[theirs]))
        yield from _turn(own, nodes, number, (parts - 1, parts), (ours, theirs))


def _across(names: Sequence[str], number: int) -> tuple[str, str]:
    ours = number % len(names)
    theirs = (ours + 1 + number // len(names) % (len(names) - 1)) % len(names)
    return names[ours], names[theirs]


def _turn(
    own: str, nodes: Sequence[str], number: int, place: tuple[int, int], ends: tuple[str, str]
) -> Iterator[Turn]:
    if own not in nodes:
        return
    index = nodes.index(own)
    met = partner(index, len(nodes), number)
    if met is None or not asks(index, met, len(nodes), number):
        return
    length = ROUND_S / place[1]
    starts = number * ROUND_S + place[0] * length
    step = length / STEPS
    pair = "\0".join((*sorted((own, nodes[met])), *ends))
    starts += step * SPREAD * (zlib.crc32(pair.encode()) % 1000) / 1000
    yield Turn(
        round=number,
        starts=starts,
        rail=ends[0],
        peer=nodes[met],
        peer_rail=ends[1],
        instead=tuple(
            (starts + step * later, nodes[other])
            for later in range(1, STEPS)
            if (other := partner(index, len(nodes), number + later)) is not None
        ),
    )
