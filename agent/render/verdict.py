"""The first line: who reads only this knows the node's state."""

from agent.render.language import say
from agent.render.lines import Line, Span, block, cells, shown
from agent.render.page import STATE, Page
from agent.render.words import duration, moment


def verdict(page: Page) -> list[Line]:
    """Return the verdict sentence, with time and duration at the right edge."""
    document = page.document
    right = ", ".join(
        part
        for part in (
            moment(document.started) if document.started else "",
            duration(document.seconds) if document.seconds is not None else "",
        )
        if part
    )
    head = (page.glyph(document.verdict), Span(" "))
    lines = list(block(head, shown(sentence(page)), page.width - cells(right) - 3, style="bold"))
    if right:
        gap = page.width - sum(cells(s.text) for s in lines[0]) - cells(right)
        lines[0] = (*lines[0], Span(" " * max(gap, 2)), Span(right, "dim"))
    if document.simulated:
        lines.append(page.text(say("simulated: no real node was looked at")))
    return lines


def sentence(page: Page) -> str:
    """Return what is wrong, or that all is well, in one sentence."""
    document = page.document
    name = document.node or say("this log")
    if document.verdict == "ok":
        return (
            say("{name} is well.", name=name) if document.node else say("nothing wrong was found.")
        )
    if document.verdict == "unknown":
        blind = [say(stage.name) for stage in document.stages if stage.verdict == "unknown"]
        if not blind:
            return say("{name} cannot be judged: not everything could be seen.", name=name)
        unseen = say(" and ").join(blind)
        return say(
            "{name} cannot be judged: the {unseen} stage could not be seen.",
            name=name,
            unseen=unseen,
        )
    root = page.finding(document.root_causes[0])
    message = root["message"]
    if STATE[root["severity"]] == "fault":
        return say("{name} has a fault: {message}.", name=name, message=message)
    return say("{name} has a warning: {message}.", name=name, message=message)
