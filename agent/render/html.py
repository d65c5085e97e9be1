"""The diagnosis of logs as one page that needs nothing else: no script, no other host."""

import base64
import hashlib
import html
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from agent.render.language import language, say
from agent.render.lines import shown
from agent.render.page import STATE, Page
from agent.render.scale import curves
from agent.render.svg import figure
from agent.render.verdict import sentence
from diagnostics.document import Document

WORDS = {"fault": "fault", "warning": "warning", "unknown": "not all seen", "ok": "well"}
MOST_STEPS = 4


def page(document: Document) -> str:
    """Return the page; every foreign text in it is escaped, bounded and in mono."""
    style = (files("agent.render") / "page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    view = Page(document, width=100, ascii_only=False, everything=False)
    body = "\n".join(_body(view))
    return (
        f'<!DOCTYPE html>\n<html lang="{language()}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(sentence(view))}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return html.escape(shown(text))


def _body(view: Page) -> Iterator[str]:
    document = view.document
    state = document.verdict
    yield f'<header><p class="state {state}">{say(WORDS[state])}</p>'
    yield f"<h1>{_text(sentence(view))}</h1>{_facts(document)}</header>"
    yield from _incidents(view)
    for run in document.jobs:
        yield from _run(view, run)
    yield from _evidence(view)
    yield from _unseen(view)
    made = _text(f"{document.product}, {document.schema}")
    yield f'<footer><p class="meta">{made}</p></footer>'


def _facts(document: Document) -> str:
    """Return what the runs are, in a line each."""
    facts = [" &middot; ".join(_fact(run)) for run in document.jobs]
    return "".join(f'<p class="meta">{fact}</p>' for fact in facts)


def _fact(run: dict[str, Any]) -> Iterator[str]:
    yield f"<code>{_text(run['log'] or '')}</code>"
    if run["framework"]:
        yield _text(run["framework"])
    if run["ranks"]:
        yield say("{count:,} ranks", count=run["ranks"])
    if run["last_step"] is not None:
        yield say("last step {step:,}", step=run["last_step"])


def _incidents(view: Page) -> Iterator[str]:
    yield f"<section><h2>{say('What, why, what now')}</h2>"
    if not view.document.incidents:
        yield f'<p class="quiet">{say("No incident.")}</p>'
    for incident in view.document.incidents:
        root = view.finding(incident.root)
        state = STATE[root["severity"]]
        follows = [view.finding(name) for name in incident.consequences]
        yield f'<article class="incident"><div><p class="state {state}">{say(state)}</p>'
        yield f"<h3>{_text(incident.sentence)}</h3>"
        yield f'<p class="meta"><code>{_text(root["fault"])}</code> {incident.id}</p></div>'
        sure = say("{percent:.0f} % sure", percent=incident.confidence * 100).replace(
            " %", "&nbsp;%"
        )
        yield f"<div><h4>{say('Why')}</h4><p>{sure}{say('.')}</p>"
        yield _list("ul", _reasons(view, root))
        yield _list("ul", [say("follows: {message}", message=f["message"]) for f in follows])
        yield _list(
            "ul",
            [say("ruled out: {fault}, {why}", fault=o.fault, why=o.why) for o in incident.rejected],
        )
        yield f"</div><div><h4>{say('What now')}</h4>{_now(view, incident.id)}</div></article>"
    yield "</section>"


def _now(view: Page, incident: str) -> str:
    """Return the first command and the first steps of an incident's plan."""
    looks = [step.command for step in view.incident(incident).next[:1]]
    steps = [
        step for plan in view.document.plan if plan.incident == incident for step in plan.steps
    ]
    commands = "".join(f"<pre>{_text(command)}</pre>" for command in looks)
    return commands + _list("ol", steps[:MOST_STEPS])


def _reasons(view: Page, root: dict[str, Any]) -> list[str]:
    """Return what speaks for a root: the numbers of its lines, and what was concluded."""
    own = [(n, e) for n, f, e in _numbers(view) if f["id"] == root["id"]]
    lines = ", ".join(str(number) for number, evidence in own if evidence["text"])
    concluded = [_values(evidence) for _, evidence in own if not evidence["text"]]
    return [say("evidence {lines}", lines=lines)] * bool(lines) + [
        said for said in concluded if said
    ]


def _values(evidence: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in evidence["values"].items())


def _list(kind: str, items: list[str]) -> str:
    inner = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f"<{kind}>{inner}</{kind}>" if items else ""


def _run(view: Page, run: dict[str, Any]) -> Iterator[str]:
    drawn = curves(run)
    if not drawn:
        return
    log = f"<code>{_text(run['log'] or '')}</code>"
    yield f"<section><h2>{say('Curves of {log}', log=log)}</h2>"
    numbers = _numbers(view)
    told = {(f["fault"], e["source"], e["line"]): n for n, f, e in numbers}
    marks = [
        {**mark, "number": number}
        for mark in run["marks"]
        if (number := told.get((mark["fault"], run["log"], mark["line"]))) is not None
    ]
    yield '<div class="curves">'
    yield from (figure(curve, marks) for curve in drawn)
    yield "</div>"
    if run["settings"]:
        rows = "".join(
            f"<dt>{_text(name.replace('_', ' '))}</dt><dd>{_text(str(value))}</dd>"
            for name, value in run["settings"].items()
        )
        yield f"<h3>{say('Settings that the log prints')}</h3><dl>{rows}</dl>"
    yield "</section>"


def _numbers(view: Page) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Return each evidence with its number and its finding."""
    told = [f for f in view.document.findings if f["fault"] != "check_not_run"]
    every = [(finding, evidence) for finding in told for evidence in finding["evidence"]]
    return [(number, *one) for number, one in enumerate(every, start=1)]


def _evidence(view: Page) -> Iterator[str]:
    rows = _numbers(view)
    if not rows:
        return
    yield f"<section><h2>{say('Evidence')}</h2>"
    yield '<div class="wide" tabindex="0" role="group" aria-label="Evidence"><table>'
    heads = "".join(f"<th>{word}</th>" for word in _heads())
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for number, finding, evidence in rows:
        where = evidence["source"]
        where += "" if evidence["line"] is None else say(", line {line:,}", line=evidence["line"])
        said = evidence["text"] or _values(evidence)
        state = STATE[finding["severity"]]
        fault = f'<code class="{state}-t">{_text(finding["fault"])}</code>'
        cells = (number, fault, f"<code>{_text(where)}</code>", f"<code>{_text(said)}</code>")
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody></table></div></section>"


def _heads() -> tuple[str, ...]:
    return say("No."), say("Finding"), say("Where"), say("As read")


def _unseen(view: Page) -> Iterator[str]:
    blind = [f["message"] for f in view.document.findings if f["fault"] == "check_not_run"]
    if blind:
        yield f"<section><h2>{say('Not seen')}</h2>{_list('ul', blind)}</section>"
