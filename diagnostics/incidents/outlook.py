"""What an incident says beyond its cause: what it was not, what was unseen, what to do."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

import msgspec

from diagnostics.document import Change, NextStep, Rejected
from diagnostics.finding import Evidence, Finding, Text, Verdict
from diagnostics.incidents import look
from diagnostics.incidents.board import Board
from diagnostics.incidents.clauses import CLAUSES, clock, dated, said, text
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import Page

MOST_REJECTED, MOST_NEXT, MOST_CHANGES = 6, 3, 12
# Of a node in ruins the gravest incidents are told with what else they could be.
MOST_WEIGHED = 100
LONGEST_WHY = 160
DAY_S = 24 * 3600.0
# The calendar's own end, in epoch seconds.
LAST_S = 253_402_300_799.0
# What tells that something else on the node was changed, or that it started anew.
CHANGES = ("software_changed", "node_changed", "unexpected_reboot", "kernel_panic")
# The stages that are about the node, and not about what a job does on it.
OF_NODE = ("driver", "network")
WHOLE = "node node"
NO_SIGN = "rejected.no_sign"
LOOKALIKE = re.compile(r"[a-z][a-z0-9_]+(?=:)")


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What one check said of itself, and which faults it would have found.

    `notes` is True where its message is not what it found well but a note of something else.
    """

    check: str
    faults: tuple[str, ...]
    verdict: Verdict
    message: str
    notes: bool = False


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What one incident could have been instead, and what to look at."""

    rejected: tuple[Rejected, ...]
    next: tuple[NextStep, ...]
    would_change: Text


class Sight:
    """All that was looked at, seen from one incident at a time."""

    def __init__(
        self,
        board: Board,
        looked: Sequence[Looked],
        pages: Mapping[str, Page],
        node: str | None,
    ) -> None:
        self.node = node
        self._board = board
        self._pages = pages
        self._changes = [one for fault in CHANGES for one in self._of(fault)]
        self._asked = 0
        self._checks: dict[str, list[Looked]] = {}
        for one in looked:
            for fault in one.faults:
                self._checks.setdefault(fault, []).append(one)

    def of(self, root: Finding, follows: Sequence[Finding]) -> Outlook:
        """Return what else it could be: what speaks against that, or that nothing could see it."""
        self._asked += 1
        others = list(self._others(root, follows)) if self._asked <= MOST_WEIGHED else []
        rejected = [
            Rejected(fault=fault, why=said(why)[:LONGEST_WHY], text=why)
            for fault in others
            if (why := self._why_not(fault, root))
        ]
        # What was measured says more than that nothing was found.
        rejected.sort(key=lambda one: one.text is not None and one.text.key == NO_SIGN)
        unseen = self._unseen(others)[:MOST_NEXT]
        steps = [self._step(root.fault, root, None)]
        steps += [self._step(fault, root, blind) for fault, blind in unseen]
        return Outlook(
            rejected=tuple(rejected[:MOST_REJECTED]),
            next=tuple(step for step in steps if step is not None),
            would_change=self._would_change(root, rejected, unseen),
        )

    def _would_change(
        self, root: Finding, rejected: Sequence[Rejected], unseen: Sequence[tuple[str, Looked]]
    ) -> Text:
        """Return which evidence would make another cause of it."""
        if unseen:
            check = unseen[0][1].check
            faults = [fault for fault, blind in unseen if blind.check == check]
            return text("would_change.unseen", faults=faults, check=check)
        span = self._board.span(root)
        time = clock(span.began) if span and span.clock == "wall" else None
        before = "" if time is None else "_before"
        if faults := [one.fault for one in rejected[:MOST_NEXT]]:
            return text(f"would_change.sign{before}", faults=faults, time=time)
        kind, name = root.subject.kind, root.subject.name[:LONGEST_WHY]
        return text(f"would_change.graver{before}", kind=kind, name=name, time=time)

    def resubmit(self, root: Finding, follows: Sequence[Finding]) -> str | None:
        """Return how to start the job anew without this node, where the node ended it."""
        jobs = [f for f in (root, *follows) if f.stage == "training" or f.subject.job is not None]
        if self.node is None or root.stage not in OF_NODE or not jobs:
            return None
        return f"sbatch --exclude={shlex.quote(self.node)} SCRIPT"

    def changes_before(self, root: Finding, follows: Sequence[Finding]) -> tuple[Change, ...]:
        """Return what was changed on its subjects in the 24 h before, the newest first.

        What says of no time when it began is taken to have begun when it was looked at.
        """
        span = self._board.span(root)
        began = self._board.now if span is None else span.began
        if began is None or (span is not None and span.clock != "wall"):
            return ()
        members = {finding.fault for finding in (root, *follows)}
        subjects = {f"{f.subject.kind} {f.subject.name}" for f in (root, *follows)}
        near = [
            (time, told)
            for time, fault, told in self._changes
            if 0 <= time < LAST_S
            if 0 <= began - time <= DAY_S and fault not in members and _about(told, subjects)
        ]
        near.sort(key=lambda one: (-one[0], said(one[1])))
        return tuple(dated(time, told) for time, told in near[:MOST_CHANGES])

    def _of(self, fault: str) -> Iterator[tuple[float, str, Text]]:
        for finding in self._board.offered(fault):
            for evidence in finding.evidence:
                if evidence.time is not None:
                    yield evidence.time, fault, _change(evidence, finding)

    def _step(self, fault: str, root: Finding, blind: Looked | None) -> NextStep | None:
        page = self._pages.get(named(fault))
        if page is None:
            return None
        kind, name = root.subject.kind, root.subject.name[:LONGEST_WHY]
        why = text("next.look", kind=kind, name=name, title=page.title, fault=page.fault)
        if blind is not None:
            why = text("next.unseen", fault=fault, check=blind.check)
        return NextStep(why=said(why), text=why, command=look.command(page.look, root, self.node))

    def _others(self, root: Finding, follows: Sequence[Finding]) -> Iterator[str]:
        """Yield what else could look like the root, or lead to what is seen; the likest first."""
        page = self._pages.get(named(root.fault))
        apart = [hit[0] for text in page.apart if (hit := LOOKALIKE.match(text))] if page else []
        # What the root leads to is no rival of it, found or not.
        members = {f.fault for f in (root, *follows)} | effects().get(root.fault, frozenset())
        names = [*apart, *causes().get(root.fault, ())]
        for fault in dict.fromkeys(f.fault for f in follows if f.severity != "info"):
            names += causes().get(fault, ())
        yield from (name for name in dict.fromkeys(names) if name not in members)

    def _why_not(self, fault: str, root: Finding) -> Text | None:
        if there := self._board.offered(fault):
            return self._apart(there[0], root)
        looked = self._checks.get(fault, [])
        spoke = [one for one in looked if one.verdict in ("ok", "warning", "fault")]
        if not spoke or any(one.verdict == "unknown" for one in looked):
            return None
        well = next((one for one in spoke if one.verdict == "ok" and not one.notes), None)
        if well is None:
            return text(NO_SIGN, check=spoke[0].check)
        return text("rejected.well", check=well.check, message=well.message[:LONGEST_WHY])

    def _apart(self, other: Finding, root: Finding) -> Text:
        """Return why a fault that was found is not the cause of another one."""
        if other.stage == "training":
            # What a job wrote stands where its own findings do, and may be another user's.
            return text("rejected.training")
        message = other.message[:LONGEST_WHY]
        if other.severity == "info":
            return text("rejected.note", message=message, finding=other.id)
        then, now = self._board.span(other), self._board.span(root)
        if then and now and then.clock == now.clock == "wall" and then.began > now.began:
            time = clock(then.began)
            return text("rejected.later", time=time, message=message, finding=other.id)
        kind, name = other.subject.kind, other.subject.name[:LONGEST_WHY]
        if (other.subject.kind, other.subject.name) != (root.subject.kind, root.subject.name):
            told = {"kind": kind, "name": name, "message": message, "finding": other.id}
            return text("rejected.other_thing", **told)
        return text("rejected.no_link", message=message, finding=other.id)

    def _unseen(self, others: Iterable[str]) -> list[tuple[str, Looked]]:
        """Return the other causes that a check was blind for, with that check."""
        unseen = []
        for fault in others:
            blind = [one for one in self._checks.get(fault, []) if one.verdict == "unknown"]
            if blind and not self._board.offered(fault):
                unseen.append((fault, blind[0]))
        return unseen


def _change(evidence: Evidence, finding: Finding) -> Text:
    """Return as data what was changed: by its values, else in its source's own words."""
    values = dict(evidence.values)
    key = values.pop("changed", None)
    if isinstance(key, str) and key in CLAUSES:
        return text(key, **values)
    return text("changed.quoted", text=evidence.text or finding.message)


def _about(change: Text, subjects: Collection[str]) -> bool:
    """Return whether a change is of the node as a whole, or of one of these."""
    subject = change.args.get("subject") or WHOLE
    return subject == WHOLE or subject in subjects or WHOLE in subjects


@cache
def causes() -> Mapping[str, tuple[str, ...]]:
    """Return by each fault what is declared to cause it, in the order of the files."""
    found: dict[str, dict[str, None]] = {}
    for edge in EDGES:
        if edge.cause != edge.consequence:
            found.setdefault(edge.consequence, {})[edge.cause] = None
    return {fault: tuple(names) for fault, names in found.items()}


@cache
def effects() -> Mapping[str, frozenset[str]]:
    """Return by each fault what is declared to follow from it, at one or more removes."""
    next_: dict[str, set[str]] = {}
    for edge in EDGES:
        next_.setdefault(edge.cause, set()).add(edge.consequence)
    return {fault: _reached(fault, next_) for fault in next_}


def _reached(fault: str, next_: Mapping[str, set[str]]) -> frozenset[str]:
    reached: set[str] = set()
    waiting = [fault]
    while waiting:
        new = next_.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return frozenset(reached)
