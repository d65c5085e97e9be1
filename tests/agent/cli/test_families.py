"""Forms of messages of many years and frameworks: cause, culprit, and a near miss of each."""

import contextlib
import io
import json
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from agent.cli.log_files import diagnose
from agent.cli.terminal import show

FOLDER = Path(__file__).parents[2] / "families"
FAMILIES: list[dict[str, Any]] = [
    family
    for file in sorted(FOLDER.glob("*.toml"))
    for family in tomllib.loads(file.read_text("utf-8"))["family"]
]
# A run that goes on prints steps for so long.
STEPS = 400


def said(tmp_path: Path, text: str) -> dict[str, Any]:
    """Return the document of a text."""
    file = tmp_path / "train.log"
    file.write_text(text.lstrip("\n"), "utf-8")
    document: dict[str, Any] = json.loads(diagnose([str(file)]).encode())
    return document


def values(finding: dict[str, Any]) -> set[str]:
    """Return all that a finding names: of its subject, and of its evidence."""
    named = dict(finding["subject"])
    for evidence in finding["evidence"]:
        named |= {f"{evidence['line']}.{key}": value for key, value in evidence["values"].items()}
    return {str(value) for value in named.values()}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family["name"]))
def test_what_ended_the_job(family: dict[str, Any], tmp_path: Path) -> None:
    """The root causes in their order, and nothing else above a note but what follows from them."""
    steps = [family["repeat"].format(n=n) for n in range(STEPS)] if "repeat" in family else []
    document = said(tmp_path, family["text"] + "\n".join(steps))
    faults = {finding["id"]: finding["fault"] for finding in document["findings"]}
    loud = {f["fault"] for f in document["findings"] if f["severity"] != "info"}
    roots = [faults[root] for root in document["root_causes"]]
    explained = {f["fault"] for f in document["findings"] if f["explained_by"]}

    assert (family["roots"], set()) == (roots, loud - explained - set(family["roots"]))
    assert set(family.get("also", ())) <= loud
    assert family.get("verdict", document["verdict"]) == document["verdict"]


@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if "says" in f], ids=lambda family: str(family["name"])
)
def test_who_and_where(family: dict[str, Any], tmp_path: Path) -> None:
    """The first root cause names the ranks, hosts, devices and places that the text names."""
    document = said(tmp_path, family["text"])
    first = next(f for f in document["findings"] if f["id"] == document["root_causes"][0])
    says = family["says"]
    wanted = {
        str(value) for value in says.get("values", [says["value"]] if "value" in says else [])
    }

    assert wanted <= values(first)
    assert says.get("rank") == (first["subject"].get("rank") if "rank" in says else None)
    assert says.get("ranks") == (first["subject"].get("ranks") if "ranks" in says else None)
    shown = first["message"] + json.dumps(first["evidence"][0]["values"])
    assert says.get("text", "") in first["message"] or _place(says["text"], first), shown


def _place(text: str, finding: dict[str, Any]) -> bool:
    held = finding["evidence"][0]["values"]
    return text == f"{held.get('file')}:{held.get('at')} in {held.get('function')}"


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", 13),
        ("NCCL version 2.20.5\n", 13),
        ("saved the state of 12 layers\n", None),
        ("Last error:\n" * 4, None),
    ],
)
def test_whose_message_goes_on(between: str, expected: int | None, tmp_path: Path) -> None:
    """NCCL's words below a rank's line are that rank's, unless something else stands between."""
    words = "ncclRemoteError: A call failed possibly due to a network error.\n"
    document = said(tmp_path, f"[rank13]: [E ProcessGroupNCCL.cpp:537] failed\n{between}{words}")
    (finding,) = document["findings"]

    assert expected == finding["subject"].get("rank")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family["name"]))
def test_what_looks_alike_is_well(family: dict[str, Any], tmp_path: Path) -> None:
    """A text with the same words and no fault gives nothing above a note."""
    document = said(tmp_path, family["well"])
    loud = [f["fault"] for f in document["findings"] if f["severity"] != "info"]

    assert ([], []) == (loud, document["root_causes"])


def test_there_are_enough() -> None:
    """Sixty families at least, none twice."""
    names = [family["name"] for family in FAMILIES]

    assert (True, sorted(set(names))) == (len(names) >= 60, sorted(names))


def test_what_healthy_runs_print_is_well(tmp_path: Path) -> None:
    """Warnings, retries, and words like error, killed and exit code, in a run that ends well."""
    document = said(tmp_path, (FOLDER / "noise.log").read_text("utf-8"))
    loud = [(f["fault"], f["message"]) for f in document["findings"] if f["severity"] != "info"]

    assert ([], "ok") == (loud, document["verdict"])


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    """What a line holds is shown as text: no escape, title, bell or mark of direction acts."""
    evil = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e\x9b31m\x08\r"
    line = f"[rank3]: RuntimeError: CUDA error: unknown error {evil} in {evil}"
    file = tmp_path / "train.log"
    file.write_text(f"start\n{line}\nValueError\n", "utf-8")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        show(diagnose([str(file)]), everything=True, ascii_only=False, color="never")

    raw = [c for c in shown.getvalue() if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
    assert ([], True) == (raw, "unknown error" in shown.getvalue())
