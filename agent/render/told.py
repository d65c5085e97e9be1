"""A diagnosis in the language that is spoken: its sentences, and none of its data."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from agent.render.language import SPOKEN
from diagnostics.document import CheckLine, Document, Incident, NextStep, PlanLine, Rejected
from diagnostics.finding import Finding, Text
from remediations.remedies import job_lines

if TYPE_CHECKING:
    from diagnostics.messages.catalogue import Catalogue


def told(document: Document) -> Document:
    """Return the document with its sentences in the language that is spoken; its data stays."""
    spoken = SPOKEN.get()
    return document if spoken is None else _Teller(spoken, document).document()


class _Teller:
    """What was found comes first: its sentences stand in those of checks and incidents again."""

    def __init__(self, spoken: "Catalogue", document: Document) -> None:
        self._spoken = spoken
        self._document = document
        self._findings = {one["id"]: self._finding(one) for one in document.findings}

    def document(self) -> Document:
        document = self._document
        stages = tuple(
            msgspec.structs.replace(stage, checks=tuple(map(self._check, stage.checks)))
            for stage in document.stages
        )
        return msgspec.structs.replace(
            document,
            stages=stages,
            findings=tuple(self._findings.values()),
            incidents=tuple(map(self._incident, document.incidents)),
            plan=tuple(map(self._plan, document.plan)),
        )

    def _finding(self, finding: dict[str, Any]) -> dict[str, Any]:
        args = {**finding["text"]["args"], "count": finding["count"]}
        said = self._spoken.finding(finding["message"], args)
        self._spoken.learn(finding["message"], said)
        return {**finding, "message": said}

    def _check(self, line: CheckLine) -> CheckLine:
        return msgspec.structs.replace(line, message=self._spoken.sentence(line.message))

    def _incident(self, incident: Incident) -> Incident:
        said = self._findings[incident.root]["message"]
        clauses = [self._clause(one) for one in incident.story]
        change = incident.would_change_text
        return msgspec.structs.replace(
            incident,
            sentence=self._spoken.word("; ").join([said, *clauses]) + self._spoken.word("."),
            rejected=tuple(map(self._rejected, incident.rejected)),
            next=tuple(map(self._next, incident.next)),
            would_change=self._spoken.sentence(incident.would_change)
            if change is None
            else self._clause(change),
            changes_before=tuple(map(self._change, incident.changes_before)),
        )

    def _clause(self, text: Text) -> str:
        from diagnostics.incidents.clauses import CLAUSES, OR  # noqa: PLC0415 - wanted in other languages only

        either = self._spoken.word(OR)
        args = {
            name: either.join(map(str, value)) if isinstance(value, list | tuple) else value
            for name, value in text.args.items()
        }
        return self._spoken.say(CLAUSES[text.key], args)

    def _rejected(self, other: Rejected) -> Rejected:
        why = self._spoken.sentence(other.why) if other.text is None else self._clause(other.text)
        return msgspec.structs.replace(other, why=why)

    def _next(self, step: NextStep) -> NextStep:
        why = self._spoken.sentence(step.why) if step.text is None else self._clause(step.text)
        return msgspec.structs.replace(step, why=why)

    def _change(self, change: str) -> str:
        at, utc, what = change.partition(" UTC ")
        return f"{at}{utc}{self._spoken.sentence(what)}"

    def _plan(self, line: PlanLine) -> PlanLine:
        for step, said in self._steps(line):
            self._spoken.learn(step, said)
        return msgspec.structs.replace(
            line,
            reason=self._spoken.sentence(line.reason),
            steps=tuple(map(self._step, line.steps)),
            risk=self._spoken.sentence(line.risk),
        )

    def _step(self, step: str) -> str:
        where, line = job_lines.place(step)
        said = None if where is None else self._spoken.word(where)
        return self._spoken.sentence(step) if said is None else f"{said}: {line}"

    def _steps(self, line: PlanLine) -> Iterator[tuple[str, str]]:
        """Yield the steps of the fault's page, as filled for this incident, in both languages."""
        from diagnostics.incidents import look  # noqa: PLC0415 - wanted in other languages only
        from diagnostics.knowledge.aliases import named  # noqa: PLC0415 - same
        from diagnostics.knowledge.pages import load  # noqa: PLC0415 - same

        names = [one.root for one in self._document.incidents if one.id == line.incident]
        for said in self._of(names):
            untimed = [{**one, "time": None} for one in said["evidence"]]
            timeless = {"first_seen": None, "last_seen": None, "evidence": untimed}
            root = msgspec.convert({**said, **timeless}, Finding)
            page = load().get(named(root.fault))
            for step in page.do if page else ():
                theirs = self._spoken.word(step)
                yield tuple(look.command(one, root, root.subject.node) for one in (step, theirs))  # type: ignore[misc] # two of them

    def _of(self, names: Iterable[str]) -> list[dict[str, Any]]:
        return [one for one in self._document.findings if one["id"] in names]
