"""The steps of a plan as numbered items; lines for a job's next start stand as they are typed."""

from collections.abc import Sequence
from itertools import groupby

from agent.render.language import say
from agent.render.lines import Line
from agent.render.page import Page
from agent.render.words import sentence
from remediations.remedies.job_lines import CODE_PLACE, ONCE, POD, SCRIPT, place


def steps(page: Page, told: Sequence[str], first: int) -> list[Line]:
    """Return the items, numbered from *first*."""
    lines: list[Line] = []
    number = first
    for where, group in groupby(told, key=lambda step: place(step)[0]):
        if where is None:
            for step in group:
                lines += page.item(f"{number}.", sentence(step))
                number += 1
            continue
        lines += page.item(f"{number}.", _named(where))
        lines += [page.command(place(step)[1]) for step in group]
        number += 1
    return lines


def _named(where: str) -> str:
    named = {
        SCRIPT: say("In the job's script, for the next start:"),
        POD: say("In the pod's spec, for the next start:"),
        CODE_PLACE: say("In the training code:"),
        ONCE: say("For one run alone, to tell whether peer access is at fault:"),
    }
    return named[where]
