"""The walk as root, as gpudiag with the reader, as gpudiag without it, and as a stranger."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.tool("unshare", "setpriv")]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Make the four walks on one private stage."""
    folder = tmp_path_factory.mktemp("walks")
    stage: list[str | Path] = ["sh", HERE / "stage.sh", folder, sys.executable, HERE.parents[1]]
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", *stage],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    walks = {}
    for name in ("root", "alone", "reader", "stranger"):
        text = (folder / f"{name}.json").read_text()
        assert text, (done, (folder / f"{name}.err").read_text())
        walks[name] = json.loads(text)
    return walks


def findings(document: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return sorted(
        (f["check"], f["fault"], f["severity"], f["subject"]["name"]) for f in document["findings"]
    )


def checks(document: dict[str, Any]) -> dict[str, str]:
    return {c["check"]: c["verdict"] for stage in document["stages"] for c in stage["checks"]}


def test_root_sees_the_holder_of_another_user(walks: dict[str, dict[str, Any]]) -> None:
    """The stage works: a process of another user on /dev/nvidia0 is judged."""
    told = [
        check["message"].partition("; no scheduler")[0]
        for check in walks["root"]["stages"][0]["checks"]
        if check["check"] == "processes.orphaned"
    ]

    assert ["1 process has a GPU open"] == told


def test_the_reader_gives_gpudiag_what_root_sees(walks: dict[str, dict[str, Any]]) -> None:
    """With the reader the findings and verdicts of every check are those of root."""
    root, reader = walks["root"], walks["reader"]

    assert (findings(root), checks(root)) == (findings(reader), checks(reader))


@pytest.mark.parametrize("name", ["alone", "stranger"])
def test_each_blind_check_names_the_verb_that_it_lacks(
    walks: dict[str, dict[str, Any]], name: str
) -> None:
    """Without the reader, or unknown to it, what was not seen says what was missing."""
    document = walks[name]
    blind = {check for check, verdict in checks(document).items() if verdict == "unknown"}
    named = {
        f["check"]
        for f in document["findings"]
        if f["fault"] == "check_not_run" and "it lacks the reader's verb `" in f["message"]
    }

    assert ({"processes.oom", "processes.orphaned"} <= blind, blind) == (True, named)


def test_no_secret_of_the_environment_leaves_the_reader(walks: dict[str, dict[str, Any]]) -> None:
    """Only the allow-list of names is read from a process's environment."""
    assert [] == [name for name, walk in walks.items() if "hunter2" in json.dumps(walk)]
