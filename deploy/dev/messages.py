"""Find every English sentence that a person reads, and keep the catalogues of translations.

`python -m deploy.dev.messages` writes each catalogue anew with what is translated already, and
says how much is not; what no source says any more is left out.
"""

import ast
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from agent.render import explain, html, scale
from agent.render.words import MONTHS
from deploy.dev.compile_messages import FOLDER, compile_all
from deploy.dev.message_words import (
    COMMANDS,
    FORMS,
    JUDGING,
    LABELS,
    MARKS,
    NAMES,
    WORDS,
)
from diagnostics.catalog import WALK
from diagnostics.finding import STAGES

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("zh",)
HEADER = "# Written by `make messages`; people fill in each msgstr."
# Two words, or a place and a word: what is shorter is an id, a key or a unit.
SENTENCE = re.compile(r"[A-Za-z,;:)}]{2,} +[A-Za-z{(]|\} ?[a-z(]|[a-z:] \{|^[;,] |: \{")
MOST_WAYS = 16
# Calls whose text is quoted or kept, or that a programmer alone sees.
UNREAD = {
    *("Evidence", "compile", "search", "match", "fullmatch", "Meta", "check", "startswith"),
    *("endswith", "TypeError", "ValueError", "RuleError", "EdgesError", "PagesError", "strftime"),
    *("removeprefix", "removesuffix", "split", "partition", "rpartition", "Wanted", "command"),
}
SAYS = {"say", "word"}
PAGE_KEYS = ("title", "meaning", "causes", "do", "never", "apart")

# Codes of switches begin far above those of GPUs.
LAST_XID = 9999
SIGNAL = re.compile(r", [A-Z][A-Z0-9_]+$")
COUNTED = re.compile(r"\b(copy engine|video decoder|JPEG decoder|on channel) \d+")
UNUSED = (
    "an old code that A100 and later GPUs do not use",
    "reserved and never printed; seen, it points at an unknown driver",
)

Found = tuple[str, str]


def texts(node: ast.AST, fixed: Mapping[str, str]) -> list[str]:
    """Return the templates that an expression can be; names of *fixed* texts are no places."""
    told: list[str] = []
    if isinstance(node, ast.Constant):
        told = [node.value] if isinstance(node.value, str) else []
    elif isinstance(node, ast.JoinedStr):
        told = [_template(node, fixed)]
    elif isinstance(node, ast.Name):
        told = [fixed[node.id]] if node.id in fixed else []
    elif isinstance(node, ast.IfExp):
        told = texts(node.body, fixed) + texts(node.orelse, fixed)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [texts(side, fixed) for side in (node.left, node.right)]
        ways = itertools.product(*(side or ["{more}"] for side in sides)) if any(sides) else ()
        told = [left + right for left, right in itertools.islice(ways, MOST_WAYS)]
    return told


def _template(node: ast.JoinedStr, fixed: Mapping[str, str]) -> str:
    """Return an f-string as a template whose places have the names of what fills them."""
    parts: list[str] = []
    taken: dict[str, int] = {}
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
            continue
        assert isinstance(value, ast.FormattedValue)
        name = _place(value.value)
        if name in fixed:
            parts.append(fixed[name])
            continue
        taken[name] = taken.get(name, 0) + 1
        parts.append(f"{{{name}{taken[name] if taken[name] > 1 else ''}}}")
    return "".join(parts)


def _place(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.IfExp) and "s" in (*texts(node.body, {}), *texts(node.orelse, {})):
        return "s"
    if isinstance(node, ast.Call) and node.args:
        return _place(node.args[0])
    return "it"


def python(source: str, *, says: bool) -> Iterator[str]:
    """Yield the templates of one module; with *says* only what is handed to `say` and `word`."""
    tree = ast.parse(source)
    fixed = _fixed(tree)
    if not says:
        yield from _walked(tree, fixed)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in SAYS and node.args:
            yield from texts(node.args[0], fixed)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.IfExp):
            # What a name is given first, and said by that name.
            yield from (one for one in texts(node.value, {}) if SENTENCE.search(one))


def _fixed(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a module has names for."""
    fixed: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            told = [] if isinstance(node.value, ast.Name) else texts(node.value, fixed)
            if len(told) == 1:
                fixed[node.targets[0].id] = told[0]
    return fixed


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _walked(node: ast.AST, fixed: Mapping[str, str], *, inside: bool = False) -> Iterator[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _called(node) in UNREAD):
        return
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        told = texts(node, fixed)
        yield from (one for one in told if SENTENCE.search(one) or (inside and one.strip(" s")))
        if isinstance(node, ast.Constant) or (told and isinstance(node, ast.BinOp)):
            return
    within = inside or isinstance(node, ast.JoinedStr)
    for child in ast.iter_child_nodes(node):
        if _is_no_text(node, child):
            continue
        deeper = within and not isinstance(node, ast.Subscript | ast.Call | ast.Compare)
        yield from _walked(child, fixed, inside=deeper)


def _is_no_text(node: ast.AST, child: ast.AST) -> bool:
    """Return whether a part of an expression is a literal's own piece, a form or a type."""
    if isinstance(node, ast.JoinedStr):
        return isinstance(child, ast.Constant)
    if isinstance(node, ast.FormattedValue):
        return child is node.format_spec
    return isinstance(child, ast.arguments) or (
        isinstance(node, ast.AnnAssign) and child is node.annotation
    )


def refusals(source: str) -> Iterator[str]:
    """Yield why a collector or a helper could not see something."""
    tree = ast.parse(source)
    fixed = _fixed(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _called(node) not in ("Refused", "Missing", "missing"):
            continue
        told = [*node.args, *(k.value for k in node.keywords if k.arg == "detail")]
        yield from (one for part in told for one in texts(part, fixed) if SENTENCE.search(one))


def rules(source: str) -> Iterator[str]:
    """Yield the messages of a file of rules."""
    for rule in tomllib.loads(source).get("rule", []):
        yield rule["message"]


def pages(source: str) -> Iterator[str]:
    """Yield what the pages of a file say, but for commands and references."""
    for page in tomllib.loads(source).values():
        for key in PAGE_KEYS:
            said = page.get(key, ())
            yield from (said,) if isinstance(said, str) else said


def codes(source: str) -> Iterator[str]:
    """Yield what the meanings of a table of codes are made of; a unit's own names are left out.

    "the routing unit, GLT: many errors were corrected" is a unit, a name and what befell it.
    """
    for row in json.loads(source):
        for text in (row.get("meaning", ""), *row.get("apart", "").split("; ")):
            head, colon, rest = text.partition(": ")
            apart = colon and (row["code"] > LAST_XID or head in UNUSED)
            for part in (SIGNAL.sub("", head), rest) if apart else (text,):
                yield COUNTED.sub(r"\1 {number}", part)


def _of(pattern: str) -> Iterator[Path]:
    yield from sorted(path for path in ROOT.glob(pattern) if "simulator" not in path.parts)


def _found(path: Path, told: Iterator[str]) -> Iterator[Found]:
    where = str(path.relative_to(ROOT))
    yield from ((where, one) for one in told if not _is_of_no_language(one))


def _is_of_no_language(text: str) -> bool:
    """Return whether a text has no word but names, which stay as they are in every language."""
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", " ", text))
    return "\\" in text or text in COMMANDS or all(w in NAMES or w.isupper() for w in words)


def _sentences() -> Iterator[Found]:
    for path in (path for part in JUDGING for path in _of(part)):
        if str(path.relative_to(ROOT)) not in FORMS:
            yield from _found(path, python(path.read_text(), says=False))
    for path in _of("collectors/**/*.py"):
        yield from _found(path, refusals(path.read_text()))


def _looked_up() -> Iterator[Found]:
    """Yield the words that drawing says by the value of a table or of the document."""
    titles = [word for title in scale.TITLES.values() for word in title if word]
    yield from (("agent/render/scale.py", one) for one in titles)
    yield from (("agent/render/words.py", one) for one in MONTHS)
    yield from (("agent/render/html.py", one) for one in html.WORDS.values())
    yield from (("agent/render/explain.py", one) for one in explain.WORD.values())
    yield from (("agent/render/explain.py", one) for one in STAGES)
    yield from (("deploy/dev/message_words.py", one) for one in LABELS)


def found(domain: str) -> Iterator[Found]:
    """Yield each message of a catalogue with the file that says it."""
    if domain == "sentences":
        yield from _sentences()
        yield from (("deploy/dev/message_words.py", one) for one in WORDS)
    elif domain == "checks":
        yield from (("diagnostics/catalog.py", explain.story(check)) for check in WALK)
    elif domain == "codes":
        for name in ("xid", "sxid"):
            path = ROOT / f"diagnostics/knowledge/codes/{name}.json"
            yield from _found(path, codes(path.read_text()))
    elif domain == "screen":
        yield from (("deploy/dev/message_words.py", one) for one in MARKS)
        yield from _looked_up()
        for path in _of("agent/render/*.py"):
            where = str(path.relative_to(ROOT))
            yield from ((where, one) for one in python(path.read_text(), says=True))
    else:
        folder, of = {"rules": ("rules/data", rules), "pages": ("knowledge/pages", pages)}[domain]
        for path in _of(f"diagnostics/{folder}/*.toml"):
            yield from _found(path, of(path.read_text()))


DOMAINS = ("sentences", "rules", "pages", "codes", "checks", "screen")


def renewed(language: str, domain: str) -> Catalog:
    """Return the catalogue of what the sources say now, with the translations that it had."""
    path = ROOT / FOLDER / language / f"{domain}.po"
    before = Catalog(locale=language)
    if path.exists():
        with path.open("rb") as text:
            before = read_po(text)
    now = Catalog(locale=language, project="gpudiag", fuzzy=False, header_comment=HEADER)
    # Where nothing is said anew, nothing is written anew.
    now.creation_date, now.revision_date = before.creation_date, before.revision_date
    for where, english in found(domain):
        known = before.get(english)
        now.add(english, known.string if known else "", locations=[(where, 0)])
    return now


def main() -> None:
    """Write every catalogue anew, and say what it lacks."""
    for language in LANGUAGES:
        for domain in DOMAINS:
            now = renewed(language, domain)
            path = ROOT / FOLDER / language / f"{domain}.po"
            path.parent.mkdir(exist_ok=True)
            with path.open("wb") as out:
                write_po(out, now, width=0, include_lineno=False, omit_header=False)
            lacking = sum(1 for one in now if one.id and not one.string)
            print(
                f"messages: {path.relative_to(ROOT)}: {len(now)} messages, {lacking} to translate"
            )
    compile_all(ROOT)


if __name__ == "__main__":
    main()
