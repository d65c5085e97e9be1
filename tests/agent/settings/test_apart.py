"""Settings checked by a process of its own are those that the models give, mistakes among them."""

import math
import sys
from pathlib import Path
from subprocess import run

import pytest

from agent.cli.errors import Mistake
from agent.knowledge import kept
from agent.settings import apart
from agent.settings.load import Settings, load, parse, whole

TEXT = """
[agent]
walk_s = 40
[network.roles]
compute = ["mlx5_[0-7]"]
[[network.peers]]
name = "gpu-019"
lid = 12
[hook]
drain = ["gpu_lost"]
[checks."processes.zombie"]
dead_s = 90
"""
RULE = """
[[rule]]
id = "site.door"
fault = "site_door_open"
severity = "warning"
anchor = "door open"
pattern = 'door open ['
message = "the door stands open"
example = ["door open 12"]
not_example = ["door shut"]
"""
# Prints what was read, and whether the models came with it.
READS = """
import sys
from agent.settings import apart
from agent.settings.load import load
print(load(sys.argv[1], check=apart.checked).agent.walk_s, "pydantic" in sys.modules)
"""


def said(text: str, *, by_itself: bool) -> tuple[str, str]:
    """Return the mistake of a file."""
    check = apart.checked if by_itself else whole
    with pytest.raises(Mistake) as caught:
        parse(text, "site.toml", {"GPUDIAG_AGENT_METRICS": ""}, check)
    return caught.value.what, caught.value.hint


def test_the_same_settings() -> None:
    """Peers, roles, limits and the environment come out as in this process."""
    given = {"GPUDIAG_REPORT_SPOOL_MIB": "64", "HOME": "/root"}

    expected = parse(TEXT, "site.toml", given)

    assert (expected, 64, 1) == (
        parse(TEXT, "site.toml", given, apart.checked),
        expected.report.spool_mib,
        len(expected.peers),
    )


def test_a_limit_without_end() -> None:
    """What JSON has no number for is handed on as well."""
    table = '[checks."processes.zombie"]\ndead_s = inf\n'

    assert {"dead_s": math.inf} == apart.checked(table, "", {})["checks"]["processes.zombie"]


@pytest.mark.parametrize(
    "text",
    [
        "[agent]\nwalk_s = 1\n",
        "[agent\n",
        '[network]\npeers = [{name = "gpu-019"}]\n',
        "agents = 1\n",
        '[checks."no.such"]\nmost = 1\n',
        '[checks."processes.zombie"]\ndead_s = 2026-12-01\n',
    ],
)
def test_the_same_mistakes(text: str) -> None:
    """File, table, key and help are said in the same words."""
    first, hint = said(text, by_itself=False)
    # A date is told by its type, which is lost on the way.
    words = first.partition("got")[0]

    assert (words, hint) == (
        (found := said(text, by_itself=True))[0].partition("got")[0],
        found[1],
    )


def test_a_rule_that_is_broken() -> None:
    """The lines around the place come with it, and a good set of rules says nothing."""
    with pytest.raises(Mistake) as caught:
        apart.compiled((("door.toml", RULE),))

    assert ("door.toml, line 7", True) == (
        caught.value.what.partition(":")[0],
        any("^" in line for line in caught.value.excerpt),
    )


def test_rules_that_are_good() -> None:
    """They are compiled, and kept for who asked."""
    good = (("door.toml", RULE.replace("open ['", "open [0-9]{1,4}'")),)
    apart.compiled(good)

    assert kept(good)


def test_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is a mistake in one line, not a set of defaults."""
    monkeypatch.setattr(sys, "executable", "/bin/false")

    assert (
        "settings cannot be checked: the process ended with 1: ",
        apart.HELP,
    ) == said("[walk]\n", by_itself=True)


def test_the_daemon_keeps_no_models(tmp_path: Path) -> None:
    """Who has the file checked apart has no pydantic in memory."""
    path = tmp_path / "gpudiag.toml"
    path.write_text(TEXT)
    argv = [sys.executable, "-I", "-c", READS, str(path)]
    ran = run(argv, capture_output=True, text=True, check=False, timeout=60)

    assert ("40.0 False\n", "") == (ran.stdout, ran.stderr)


def test_no_file_asks_nobody(tmp_path: Path) -> None:
    """Without a file no process is started."""
    found = load(str(tmp_path / "none"), check=lambda *_: pytest.fail("it was asked"))

    assert Settings() == found
