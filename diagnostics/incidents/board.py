"""All findings of one look, laid out so that the causes of one are found without reading all."""

from collections.abc import Iterable, Iterator, Sequence

from diagnostics.finding import Finding
from diagnostics.incidents import align
from diagnostics.incidents.align import Span
from diagnostics.incidents.edge import Edge, Same
from diagnostics.incidents.rank import Weight, weight
from diagnostics.incidents.things import alike_in

# Of what one edge offers as causes of one finding the likeliest are tried.
MOST_TRIED = 64

# Of two findings of one fault these say by themselves which is the cause.
ONE_WAY = ("whole", "heard")

# A thing that two findings have in common: whose kind, which one.
Key = tuple[Same, object]


# In these senses two jobs of one node have nothing in common.
OF_A_JOB = ("subject", "log", "above")


class Board:
    """The findings by what they can have in common, each list with the likeliest cause first."""

    def __init__(self, findings: Sequence[Finding], now: float | None) -> None:
        self.now = now
        self.spans = {finding.id: align.span(finding, now) for finding in findings}
        self._weights = {f.id: weight(f, self.spans[f.id]) for f in findings}
        self.ordered = sorted(findings, key=self.weight)
        self._by: dict[tuple[str, Key], list[Finding]] = {}
        for finding in self.ordered:
            for key in keys(finding):
                self._by.setdefault((finding.fault, key), []).append(finding)

    def weight(self, finding: Finding) -> Weight:
        """Return its place in the order of causes."""
        return self._weights[finding.id]

    def causes(self, edge: Edge, consequence: Finding) -> Iterator[Finding]:
        """Yield what this edge says to be causes of a finding, the likeliest first."""
        for key in _asked(edge.same, consequence):
            for cause in self._by.get((edge.cause, key), ())[:MOST_TRIED]:
                if cause.id != consequence.id and self._leads(edge, cause, consequence):
                    yield cause

    def offered(self, fault: str) -> list[Finding]:
        """Return the findings of a fault, the likeliest cause first."""
        return self._by.get((fault, ("node", None)), [])

    def _leads(self, edge: Edge, cause: Finding, consequence: Finding) -> bool:
        if edge.same in OF_A_JOB and _of_two_jobs(cause, consequence):
            return False
        alike = edge.cause == edge.consequence and edge.same not in ONE_WAY
        if alike and self.weight(cause) > self.weight(consequence):
            return False
        return alike_in(edge.same, cause, consequence) and self.in_time(edge, cause, consequence)

    def in_time(self, edge: Edge, cause: Finding, consequence: Finding) -> bool:
        """Return whether their times allow what an edge says, as far as they are known."""
        then, now = self.spans[cause.id], self.spans[consequence.id]
        untimed = edge.within_s is None or edge.same != "node"
        if then is None or now is None:
            return untimed
        slack = align.slack(cause, consequence, then, now)
        if edge.within_s is not None and slack > max(edge.within_s, 2 * align.SKEW_S):
            # A stamp without a zone is good to half a day: it tells no nearness.
            return untimed
        if edge.direction == "first" and not align.before(then, now, slack):
            return False
        if edge.within_s is None:
            return True
        early = edge.within_s if edge.direction == "near" else 0.0
        return align.within(then, now, (slack + early, slack + edge.within_s))

    def span(self, finding: Finding) -> Span | None:
        """Return when it was, where that is known."""
        return self.spans[finding.id]


def _of_two_jobs(one: Finding, other: Finding) -> bool:
    """Return whether they are known to be of different jobs: each job has a rank 1."""
    jobs = (one.subject.job, other.subject.job)
    return None not in jobs and jobs[0] != jobs[1]


def keys(finding: Finding) -> Iterator[Key]:
    """Yield under what a finding is looked for as a cause."""
    subject = finding.subject
    yield "node", None
    yield "subject", (subject.kind, subject.name)
    if subject.job is not None:
        yield "job", subject.job
    if subject.pid is not None:
        yield "pid", subject.pid
    if finding.stage == "training":
        yield "log", None
    for source in {evidence.source for evidence in finding.evidence}:
        yield "source", source


def _asked(same: Same, consequence: Finding) -> Iterable[Key]:
    """Return under what the causes of a finding are looked for."""
    if same in ("subject", "job", "pid", "source"):
        return [key for key in keys(consequence) if key[0] == same]
    if same in ("log", "above", "heard") and consequence.stage != "training":
        return []
    return [("log" if same in ("log", "above") else "node", None)]
