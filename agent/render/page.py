"""What every part of the page needs: the document, the width, the glyphs."""

from typing import Any

from agent.render.lines import Line, Span, block, cells, pad, shown
from agent.render.one_log import brief
from agent.render.told import told
from agent.render.words import ASCII, GLYPHS
from diagnostics.document import Document, Incident

ROOMY = 80
STATE = {"critical": "fault", "warning": "warning", "info": "none"}


class Page:
    """One drawing of one document."""

    def __init__(
        self, document: Document, *, width: int, ascii_only: bool, everything: bool
    ) -> None:
        self.document = document = brief(told(document))
        self.width = width
        self.narrow = width < ROOMY
        self.everything = everything
        # By stage, how long ago it was looked at; empty where the document was made just now.
        self.ages: dict[str, str] = {}
        self._glyphs = ASCII if ascii_only else GLYPHS
        self._findings = {finding["id"]: finding for finding in document.findings}
        self._incidents = {incident.id: incident for incident in document.incidents}

    def finding(self, name: str) -> dict[str, Any]:
        """Return a finding by its id."""
        return self._findings[name]

    def incident(self, name: str) -> Incident:
        """Return an incident by its id."""
        return self._incidents[name]

    def incident_of(self, finding: str) -> str | None:
        """Return the incident that a finding follows from, or is the root of."""
        return next(
            (i.id for i in self.document.incidents if finding in (i.root, *i.consequences)), None
        )

    def glyph(self, state: str) -> Span:
        """Return the one-cell mark of a state."""
        return Span(self._glyphs[state], state if state != "none" else "")

    def heading(self, word: str) -> list[Line]:
        """Return a heading line."""
        return [(Span(word, "bold"),)]

    def text(self, text: str, *, indent: int = 2) -> Line:
        """Return one short line of our own words."""
        return (Span(" " * indent), Span(text))

    def command(self, command: str) -> Line:
        """Return a command to copy, alone on its line."""
        return (Span(" " * 7), Span(shown(command), "bold"))

    def item(self, mark: str, text: str) -> list[Line]:
        """Return a numbered or marked sentence."""
        return list(block((Span(f"  {mark} "),), shown(text), self.width))

    def row(self, state: str, label: str, text: str, *, indent: int, right: str = "") -> list[Line]:
        """Return `glyph label  text`, or on a narrow terminal the text below its label."""
        head: Line = (Span(" " * indent), self.glyph(state), Span(" "))
        if self.narrow:
            tail = f"{shown(text)}, {right}" if right else shown(text)
            under = (Span(" " * (indent + 4)),)
            return [(*head, Span(label)), *block(under, tail, self.width)]
        head = (*head, Span(pad(label, 24) + " "))
        room = self.width - (cells(right) + 2 if right else 0)
        first, *more = block(head, shown(text), room)
        if right:
            gap = self.width - sum(cells(s.text) for s in first) - cells(right)
            first = (*first, Span(" " * max(gap, 2)), Span(right, "dim"))
        return [first, *more]
