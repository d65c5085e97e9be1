"""A check: a pure function, and what can be read off its signature."""

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.subject import Subject
from diagnostics.finding import (
    RANK,
    Evidence,
    Finding,
    NotApplicable,
    Proved,
    Stage,
    Statement,
    Unseen,
    Verdict,
    Well,
    found,
)

Seen = Mapping[type[Observation], Observation | Missing]
Judge = Callable[..., Iterable[Statement]]

NODE = Subject(kind="node", name="node")


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check's thresholds; its fields are the check's table in the settings file.

    A struct, not a pydantic model: sixty models would cost each start 80 ms.
    """


class Need(msgspec.Struct, frozen=True):
    """One parameter of a check: an observation, and whether the check can judge without it."""

    shape: type[Observation]
    optional: bool


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one check said of one node; `faults` are all that it can find."""

    check: str
    stage: Stage
    verdict: Verdict
    message: str
    faults: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    missing: tuple[Missing, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check; needs and limits are read off its function, its docstring is its page."""

    name: str
    stage: Stage
    proved: Proved
    faults: tuple[str, ...]
    judge: Judge
    needs: tuple[Need, ...]
    limits: type[Limits] | None

    @property
    def doc(self) -> str:
        """Return the docstring: first line what must hold, then why it matters."""
        return inspect.getdoc(self.judge) or ""

    def run(self, seen: Seen, limits: Limits | None = None) -> Result:
        """Judge what was seen; a missing need makes the verdict unknown, a crash too."""
        arguments: list[Observation | Missing | Limits] = []
        for need in self.needs:
            fact = seen.get(need.shape) or Missing(
                what=need.shape.__name__, cause=Cause.NOT_RECORDED, detail="was not collected"
            )
            if isinstance(fact, Missing) and not need.optional:
                return self._result((Unseen(missing=fact),))
            arguments.append(fact)
        if self.limits is not None:
            arguments.append(limits or self.limits())
        try:
            statements = tuple(self.judge(*arguments))
        except Exception as problem:  # noqa: BLE001 - one check's bug must not hide what the others see
            crashed = Missing(what=self.name, cause=Cause.CRASHED, detail=repr(problem))
            statements = (Unseen(missing=crashed),)
        return self._result(statements)

    def _result(self, statements: tuple[Statement, ...]) -> Result:
        unseen = tuple(s for s in statements if isinstance(s, Unseen))
        # A question that a recording does not hold was never asked there: not a blind spot.
        missing = tuple(s.missing for s in unseen if s.missing.cause is not Cause.NOT_RECORDED)
        findings = tuple(self._own(s) for s in statements if isinstance(s, Finding))
        findings += tuple(self._own(not_run(self.name, s)) for s in unseen if s.missing in missing)
        verdict, message = _verdict(statements, findings, missing)
        return Result(
            faults=self.faults,
            check=self.name,
            stage=self.stage,
            verdict=verdict,
            message=message,
            findings=findings,
            missing=missing,
        )

    def _own(self, finding: Finding) -> Finding:
        return msgspec.structs.replace(
            finding, check=self.name, stage=self.stage, proved=self.proved
        )


def _verdict(
    statements: tuple[Statement, ...], findings: tuple[Finding, ...], missing: tuple[Missing, ...]
) -> tuple[Verdict, str]:
    worst = max((RANK[f.severity] for f in findings), default=0)
    loud = [f.message for f in findings if RANK[f.severity] == worst and worst]
    if loud:
        return ("warning", "fault")[worst - 1], _folded(loud)
    if missing:
        return "unknown", _folded([m.why() for m in missing])
    wells = [s.message for s in statements if isinstance(s, Well)]
    notes = [f.message for f in findings]
    if wells or notes:
        return "ok", _folded(notes or wells)
    reasons = [s.why for s in statements if isinstance(s, NotApplicable)]
    reasons += [s.missing.detail for s in statements if isinstance(s, Unseen)]
    return "not_applicable", _folded(reasons or ["nothing to judge"])


def _folded(messages: list[str]) -> str:
    more = len(messages) - 1
    return messages[0] if not more else f"{messages[0]} (and {more} more)"


def not_run(check: str, unseen: Unseen) -> Finding:
    """Return the observer's own finding: *check* could not see what it needs."""
    missing = unseen.missing
    lacks = f"; it lacks the reader's verb `{missing.verb}`" if missing.verb else ""
    return found(
        "check_not_run",
        "info",
        unseen.subject or NODE,
        "{check} could not see {what} ({why}){lacks}",
        Evidence(source="gpudiag", values={"cause": missing.cause.value, "stuck": missing.stuck}),
        check=check,
        what=missing.what,
        why=missing.why(),
        lacks=lacks,
        confidence=1.0,
    )


def check(
    name: str, *, stage: Stage, faults: tuple[str, ...], proved: Proved
) -> Callable[[Judge], Check]:
    """Make a check of a pure function; its parameters' types say what it needs.

    A parameter typed `Shape` must be seen, or the check is unknown without being called; one typed
    `Shape | Missing` is passed on as it came. A last parameter may be a `Limits`.
    """

    def make(judge: Judge) -> Check:
        hints: dict[str, Any] = get_type_hints(judge)
        hints.pop("return", None)
        needs = tuple(n for hint in hints.values() if (n := _need(hint)))
        limits = next(
            (h for h in hints.values() if inspect.isclass(h) and issubclass(h, Limits)), None
        )
        return Check(
            name=name,
            stage=stage,
            proved=proved,
            faults=faults,
            judge=judge,
            needs=needs,
            limits=limits,
        )

    return make


def _need(hint: Any) -> Need | None:  # noqa: ANN401 - a type expression
    if get_origin(hint) in (Union, types.UnionType):
        shape = next(a for a in get_args(hint) if a is not Missing)
        return Need(shape, optional=True)
    if inspect.isclass(hint) and issubclass(hint, Observation):
        return Need(hint, optional=False)
    return None
