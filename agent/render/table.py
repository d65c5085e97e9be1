"""`gpudiag run` and `logs` for people: verdict, incidents, stages, what to do."""

from agent.render.incidents import incidents
from agent.render.language import say
from agent.render.language import sentence as told
from agent.render.lines import Line
from agent.render.page import Page
from agent.render.stages import notes, stages, unseen_as_user
from agent.render.steps import steps
from agent.render.verdict import verdict
from agent.render.words import sentence
from diagnostics.document import Document, PlanLine
from remediations.plan.advise import NAME as ADVISE


def draw(document: Document, *, width: int, ascii_only: bool, everything: bool) -> list[Line]:
    """Return the whole page as lines."""
    page = Page(document, width=width, ascii_only=ascii_only, everything=everything)
    parts = [verdict(page), incidents(page), stages(page), _plan(page)]
    parts += [
        part for part in (_older(page), unseen_as_user(page), notes(page), _more(page)) if part
    ]
    lines: list[Line] = []
    for part in parts:
        lines += [(), *part] if lines else part
    return lines


def _older(page: Page) -> list[Line]:
    """Return what was not looked at for this walk, and how old it is."""
    ages = {c.check: c.age_s for s in page.document.stages for c in s.checks if c.age_s is not None}
    if not ages:
        return []
    one = "1 check rests on what the agent of this node saw up to {age:.0f} s ago"
    more = "{count} checks rest on what the agent of this node saw up to {age:.0f} s ago"
    age = max(ages.values())
    text = say(one, age=age) if len(ages) == 1 else say(more, count=len(ages), age=age)
    return [page.text(text, indent=0)]


def _plan(page: Page) -> list[Line]:
    lines = page.heading(say("What to do"))
    if not page.document.plan:
        return [*lines, page.text(_no_plan(page))]
    for entry in page.document.plan:
        incident = page.incident(entry.incident)
        if len(page.document.plan) > 1:
            root = page.finding(incident.root)
            lines.append(page.text(f"{incident.id}, {root['fault']}"))
        lines += page.item("1.", say("Look first:"))
        lines += [page.command(step.command) for step in incident.next]
        lines += steps(page, entry.steps, 2)
        if incident.resubmit:
            lines += page.item("-", say("Start the job anew on other nodes:"))
            lines.append(page.command(incident.resubmit))
        if entry.risk:
            lines += page.item("-", sentence(entry.risk))
        if entry.remedy != ADVISE:
            lines += page.item("-", _remedy(entry))
    return lines


def _remedy(entry: PlanLine) -> str:
    """Return which remedy could do it, and why it does or not."""
    said = told(entry.reason)
    return said if said.startswith(entry.remedy) else f"{entry.remedy}: {said}"


def _no_plan(page: Page) -> str:
    blind = [say(stage.name) for stage in page.document.stages if stage.verdict == "unknown"]
    if not blind:
        return say("nothing")
    one = "find out why the {stages} stage could not be seen: that is no word that all is well"
    more = "find out why the {stages} stages could not be seen: that is no word that all is well"
    stages = say(", ").join(blind)
    return say(one, stages=stages) if len(blind) == 1 else say(more, stages=stages)


def _more(page: Page) -> list[Line]:
    roots = [page.finding(root)["fault"] for root in page.document.root_causes]
    return (
        [page.text(say("More: gpudiag explain {fault}", fault=roots[0]), indent=0)] if roots else []
    )
