"""What is held down because of heat, since when and why, and what a person is needed for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.render.language import say
from agent.render.lines import Line, Span, block, pad, shown
from agent.render.page import Page
from agent.render.words import MINUTE, duration
from diagnostics.checks.gpu.caps import measure, named

One = Mapping[str, Any]


def heat(page: Page, caps: Mapping[str, Any] | None) -> list[Line]:
    """Return a line for what is held and one for what is in a person's hands; none for neither."""
    lines: list[Line] = []
    for state, text in _rows(caps) if caps is not None else ():
        head = (Span("  "), page.glyph(state), Span(f"  {pad(say('heat'), 4)}  "))
        lines += block(head, shown(text), page.width)
    return lines


def _rows(caps: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if held := caps["held"]:
        yield "none", _held(held, caps["now"])
    if people := caps["handed_over"]:
        yield "warning", _people(people, caps["now"])


def _held(held: Sequence[One], now: float) -> str:
    lowest = min(held, key=lambda cap: cap["limit"] / max(cap["before"], 1))
    return say(
        "{what} at {limit} of {before} {time}: {why}",
        what=_counted(lowest, held),
        limit=measure(lowest["limit"], lowest["unit"]),
        before=measure(lowest["before"], lowest["unit"]),
        time=_since(min(cap["since"] for cap in held), now),
        why=lowest["why"],
    )


def _people(people: Sequence[One], now: float) -> str:
    return say(
        "a person is needed for {what} {time}: {why}",
        what=_counted(people[0], people),
        time=_since(min(one["since"] for one in people), now),
        why=people[0]["why"],
    )


def _counted(one: One, every: Sequence[One]) -> str:
    what = named(one["subject"])
    return say("{what} and {more} more", what=what, more=len(every) - 1) if every[1:] else what


def _since(since: float, now: float) -> str:
    seconds = max(now - since, 0.0)
    time = f"{seconds:.0f} s" if seconds < MINUTE else duration(seconds)
    return say("for {time}", time=time)
