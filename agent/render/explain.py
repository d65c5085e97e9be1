"""The pages of `gpudiag explain`: a fault, a check or a rule in under 25 lines."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agent.render.language import known, say, sentence
from agent.render.lines import Line, Span, block, edge, pad, wrap
from diagnostics.catalog import WALK
from diagnostics.check import Check, Limits
from diagnostics.incidents.edges import EDGES
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.codes.recovery import STEPS
from diagnostics.knowledge.codes.tables import Code, SXid, Xid, subs, words
from diagnostics.knowledge.pages import Page
from diagnostics.rules.rule import Rule

LABEL = 14
# A page has under 25 lines: of what does not fit it says how many there are.
MOST_EXPLAINED, MOST_FOUND = 16, 36
STAGE_NUMBER = {"processes": 1, "driver": 2, "network": 3, "training": 4}
BY_WORDS = 74
WORD = {"info": "note", "warning": "warning", "critical": "fault"}


def fault(page: Page, width: int) -> list[Line]:
    """Return the page of a fault."""
    lines = _title(
        page.fault, say(", ").join((say(WORD[page.severity]), _stage(page.stage))), width
    )
    lines += _paragraph(_between(_sentence(say(page.title)), say(page.meaning)), width)
    lines += _labelled("Causes", _numbered(map(say, page.causes)), width)
    lines += _labelled("Look first", [page.look], width, style="bold")
    lines += _labelled("What to do", _numbered(map(say, page.do)), width)
    lines += _labelled("Never", [say(page.never)], width)
    lines += _labelled("Told apart", [say(text) for text in page.apart], width)
    lines += _labelled("Explains", _some(_consequences(page.fault), MOST_EXPLAINED), width)
    lines += _labelled("Checks", _joined(c.name for c in WALK if page.fault in c.faults), width)
    lines += _labelled("References", _joined(page.references), width)
    return lines + _in_english(
        (page.title, page.meaning, *page.causes, *page.do, page.never), width
    )


def check(entry: Check, width: int) -> list[Line]:
    """Return the page of a check."""
    about = (say("check"), _stage(entry.stage), say("proved: {how}", how=entry.proved))
    lines = _title(entry.name, say(", ").join(about), width)
    lines += _paragraph(say(story(entry)), width)
    needs = [n.shape.__name__ + (say(" (if it can)") if n.optional else "") for n in entry.needs]
    lines += _labelled("Reads", _joined(needs), width)
    lines += _labelled("Limits", list(_limits(entry)), width)
    lines += _labelled("Can find", _some(entry.faults, MOST_FOUND), width)
    setting = [f'[checks."{entry.name}"]'] if entry.limits else []
    lines += _labelled("Set with", setting, width)
    return lines + _in_english((story(entry),), width)


def story(entry: Check) -> str:
    """Return what a check holds and why it matters, as one paragraph."""
    first, _, rest = entry.doc.partition("\n")
    return f"{first} {' '.join(rest.split())}".strip()


def rule(entry: Rule, width: int) -> list[Line]:
    """Return the page of a rule."""
    about = (say("rule"), say(WORD[entry.severity]), say("finds {fault}", fault=entry.fault))
    lines = _title(entry.id, say(", ").join(about), width)
    lines += _labelled("Anchor", [entry.anchor], width)
    lines += _labelled("Pattern", [entry.pattern], width)
    lines += _labelled("Finds", entry.example[:1], width)
    lines += _labelled("Leaves", entry.not_example[:1], width)
    lines += _labelled("Remedy", [entry.remedy] if entry.remedy else [], width)
    lines += _labelled("References", _joined(entry.references), width)
    return lines + _labelled("More", [f"gpudiag explain {entry.fault}"], width, style="bold")


def code(name: str, entry: Code, width: int) -> list[Line]:
    """Return the page of an Xid or SXid."""
    fault = named(name)
    kind = "Xid" if isinstance(entry, Xid) else say("SXid of an NVSwitch")
    lines = _title(name, say(", ").join((say(WORD[entry.severity]), kind)), width)
    lines += _paragraph(f"{entry.name}: {sentence(entry.meaning)}{say('.')}", width)
    lines += _labelled("Where", [say(entry.kind)], width)
    lines += _labelled("On", _generations(entry), width)
    lines += _labelled("Told as", [] if fault == "xid_other" else [fault], width)
    lines += _labelled("Recovery", [say(STEPS[entry.recovery])], width, style="bold")
    lines += _labelled("Driver", list(_driver_says(entry)), width)
    lines += _labelled("Sub-events", list(_sub_events(entry)), width)
    lines += _labelled("Told apart", [sentence(t) for t in entry.apart.split("; ") if t], width)
    lines += _labelled("More", [f"gpudiag explain {fault}"], width)
    return lines


def _generations(entry: Code) -> list[str]:
    if entry.generations == ("newest",):
        return [say("drivers of 2026; which GPUs print it is not documented")]
    return [", ".join(entry.generations) or say("nothing that is sold today")]


def _driver_says(entry: Code) -> Iterator[str]:
    if isinstance(entry, SXid) and entry.always_fatal:
        yield say("calls it Fatal or not; it is always fatal for the whole fabric")
    elif isinstance(entry, SXid) and entry.printed == "containment":
        yield say("calls it Fatal where containment is on, else Non-fatal")
    if isinstance(entry, Xid) and entry.told_by_154:
        yield say("states what it wants in an Xid 154, which goes before this")


def _sub_events(entry: Code) -> Iterator[str]:
    if not isinstance(entry, Xid):
        return
    units: dict[str, list[bool]] = {}
    for sub in subs().get(entry.code, ()):
        units.setdefault(sub.unit[0], []).append(sub.severity != "nonfatal")
    for unit, fatal in units.items():
        yield say(
            "{unit}: {fatal} of {count} are fatal", unit=unit, fatal=sum(fatal), count=len(fatal)
        )
    if entry.code == BY_WORDS:
        groups = dict.fromkeys(word.group.replace("_", " ") for word in words())
        yield say("register words 1, 3, 4, 5 tell: {groups}", groups=", ".join(groups))


def _stage(name: str) -> str:
    return say("stage {number} ({name})", number=STAGE_NUMBER[name], name=say(name))


def _between(first: str, second: str) -> str:
    """Return two sentences one after the other, with a space where the first ends in one's mark."""
    return f"{first} {second}" if first.endswith(".") else first + second


def _in_english(texts: Iterable[str], width: int) -> list[Line]:
    """Return a note where something of the page is there in English only."""
    if all(known(text) for text in texts):
        return []
    note = say("Some of this page is not translated yet, and stands here in English.")
    return [(), *((Span("  "), Span(line, "dim")) for line in wrap(note, width - 2))]


def _title(name: str, right: str, width: int) -> list[Line]:
    return [edge((Span(name, "bold"),), right, width), ()]


def _sentence(title: str) -> str:
    return title[:1].upper() + title[1:] + say(".")


def _paragraph(text: str, width: int) -> list[Line]:
    return [*((Span("  "), Span(line)) for line in wrap(text, width - 2)), ()]


def _labelled(label: str, texts: Sequence[str], width: int, *, style: str = "") -> list[Line]:
    lines: list[Line] = []
    for number, text in enumerate(texts):
        head = (Span(pad("  " + (say(label) if not number else ""), LABEL), "dim"),)
        lines += block(head, text, width, style=style)
    return lines


def _numbered(texts: Iterable[str]) -> list[str]:
    return [f"{number}. {text}" for number, text in enumerate(texts, start=1)]


def _joined(texts: Iterable[str]) -> list[str]:
    joined = ", ".join(dict.fromkeys(texts))
    return [joined] if joined else []


def _some(texts: Iterable[str], most: int) -> list[str]:
    names = list(dict.fromkeys(texts))
    rest = [say("and {left} more", left=len(names) - most)] if len(names) > most else []
    return _joined([*names[:most], *rest])


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
