"""The steps of a plan as numbered items; lines for a job's next start stand as they are typed."""

from collections.abc import Sequence
from itertools import groupby

from agent.render.language import say
from agent.render.lines import Line
from agent.render.page import Page
from agent.render.words import sentence


def steps(page: Page, told: Sequence[str], first: int) -> list[Line]:
    """Return the items, numbered from *first*."""
    lines: list[Line] = []
    number = first
    named = _headings()
    for heading, group in groupby(told, key=lambda step: named.get(step.partition(": ")[0])):
        if heading is None:
            for step in group:
                lines += page.item(f"{number}.", sentence(step))
                number += 1
            continue
        lines += page.item(f"{number}.", heading)
        lines += [page.command(step.partition(": ")[2]) for step in group]
        number += 1
    return lines


def _headings() -> dict[str, str]:
    """Return by the place of a line, in the language that is spoken, what stands above it."""
    return {
        say("in the job's script"): say("In the job's script, for the next start:"),
        say("in the pod's spec"): say("In the pod's spec, for the next start:"),
        say("in the training code"): say("In the training code:"),
        say("for one run alone"): say("For one run, to tell whether peer access is at fault:"),
    }
