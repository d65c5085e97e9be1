"""The pages of `gpudiag explain`: a fault, a check or a rule in under 25 lines."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agent.render.lines import Line, Span, block, edge, wrap
from diagnostics.catalog import WALK
from diagnostics.check import Check, Limits
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.pages import Page
from diagnostics.rules.rule import Rule

LABEL = 14
STAGE_NUMBER = {"processes": 1, "driver": 2, "network": 3, "training": 4}
WORD = {"info": "note", "warning": "warning", "critical": "fault"}


def fault(page: Page, width: int) -> list[Line]:
    """Return the page of a fault."""
    stage = f"stage {STAGE_NUMBER[page.stage]} ({page.stage})"
    lines = _title(page.fault, f"{WORD[page.severity]}, {stage}", width)
    lines += _paragraph(f"{_sentence(page.title)} {page.meaning}", width)
    lines += _labelled("Causes", _numbered(page.causes), width)
    lines += _labelled("Look first", [page.look], width, style="bold")
    lines += _labelled("What to do", _numbered(page.do), width)
    lines += _labelled("Never", [page.never], width)
    lines += _labelled("Told apart", page.apart, width)
    lines += _labelled("Explains", _joined(_consequences(page.fault)), width)
    lines += _labelled("Checks", _joined(c.name for c in WALK if page.fault in c.faults), width)
    return lines + _labelled("References", _joined(page.references), width)


def check(entry: Check, width: int) -> list[Line]:
    """Return the page of a check."""
    stage = f"stage {STAGE_NUMBER[entry.stage]} ({entry.stage})"
    lines = _title(entry.name, f"check, {stage}, proved: {entry.proved}", width)
    first, _, rest = entry.doc.partition("\n")
    lines += _paragraph(f"{first} {' '.join(rest.split())}".strip(), width)
    needs = [f"{n.shape.__name__}{' (if it can)' if n.optional else ''}" for n in entry.needs]
    lines += _labelled("Reads", _joined(needs), width)
    lines += _labelled("Limits", list(_limits(entry)), width)
    lines += _labelled("Can find", _joined(entry.faults), width)
    return lines + _labelled(
        "Set with", [f'[checks."{entry.name}"]'] if entry.limits else [], width
    )


def rule(entry: Rule, width: int) -> list[Line]:
    """Return the page of a rule."""
    lines = _title(entry.id, f"rule, {WORD[entry.severity]}, finds {entry.fault}", width)
    lines += _labelled("Anchor", [entry.anchor], width)
    lines += _labelled("Pattern", [entry.pattern], width)
    lines += _labelled("Finds", entry.example[:1], width)
    lines += _labelled("Leaves", entry.not_example[:1], width)
    lines += _labelled("References", _joined(entry.references), width)
    return lines + _labelled("More", [f"gpudiag explain {entry.fault}"], width, style="bold")


def _title(name: str, right: str, width: int) -> list[Line]:
    return [edge((Span(name, "bold"),), right, width), ()]


def _sentence(title: str) -> str:
    return title[:1].upper() + title[1:] + "."


def _paragraph(text: str, width: int) -> list[Line]:
    return [*((Span("  "), Span(line)) for line in wrap(text, width - 2)), ()]


def _labelled(label: str, texts: Sequence[str], width: int, *, style: str = "") -> list[Line]:
    lines: list[Line] = []
    for number, text in enumerate(texts):
        head = (Span(f"  {label if not number else '':<{LABEL - 2}}", "dim"),)
        lines += block(head, text, width, style=style)
    return lines


def _numbered(texts: Sequence[str]) -> list[str]:
    return [f"{number}. {text}" for number, text in enumerate(texts, start=1)]


def _joined(texts: Iterable[str]) -> list[str]:
    joined = ", ".join(dict.fromkeys(texts))
    return [joined] if joined else []


def _consequences(name: str) -> Iterator[str]:
    yield from (edge.consequence for edge in EDGES if edge.cause == name)


def _limits(entry: Check) -> Iterator[str]:
    if entry.limits is None:
        return
    shipped: Limits = entry.limits()
    for field in msgspec.inspect.type_info(entry.limits).fields:  # type: ignore[attr-defined] # a StructType has them
        extra = getattr(field.type, "extra_json_schema", None) or {}
        words = extra.get("description", "")
        value = getattr(shipped, field.name)
        yield f"{field.name} = {value}{f'  ({words})' if words else ''}"
