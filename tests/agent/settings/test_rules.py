"""A site's own rules: read, used, and said by file, line, rule and key where one is broken."""

import tomllib
from pathlib import Path

import pytest

from agent import knowledge
from agent.cli import explain, log_files
from agent.cli.errors import Mistake
from agent.settings.rules import checked, renewed
from diagnostics.rules.index import RuleFile

HOT = r"""
[[rule]]
id = "site.module_hot"
fault = "ib_cable_overheat"
severity = "warning"
source = "any"
anchor = "module temperature"
pattern = 'module temperature (?P<celsius>\d{1,3}) C'
fields = { celsius = "int" }
message = "the optical module has {celsius} C"
example = ["qsfp 3: module temperature 78 C"]
not_example = ["module temperature unknown"]
"""
NAME = "/etc/gpudiag/rules.d/optics.toml"


def mistake(text: str) -> Mistake:
    """Return what is wrong with a file."""
    with pytest.raises(Mistake) as raised:
        checked([RuleFile(NAME, text)], knowledge.shipped())
    return raised.value


def test_a_sites_rule_is_used_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`logs` finds by it, and `explain` knows it."""
    (tmp_path / "optics.toml").write_text(HOT)
    (tmp_path / "notes.txt").write_text("no rules")
    log = tmp_path / "some.log"
    log.write_text("qsfp 3: module temperature 91 C\n")
    own = knowledge.site(str(tmp_path))
    monkeypatch.setattr(log_files, "site", lambda: own)
    monkeypatch.setattr(knowledge, "site", lambda: own)
    (finding,) = log_files.diagnose([str(log)]).findings

    assert ("ib_cable_overheat", "site.module_hot", True) == (
        finding["fault"],
        finding["rule"],
        "site.module_hot" in explain.listing()["rules"],
    )


@pytest.mark.parametrize(
    ("source", "fault", "line"),
    [
        ("kernel", "ib_cable_overheat", "[   12.345678] module temperature 91 C\n"),
        ("tool", "ib_cable_overheat", "module temperature 91 C\n"),
        ("training", "cuda_oom", "module temperature 91 C\n"),
    ],
)
def test_a_rules_remedy_reaches_the_plan(
    source: str, fault: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever's line it is, the finding names the remedy, and the incident's plan does."""
    rule = HOT.replace('"any"', f'"{source}"\nremedy = "nic.swap_optics"')
    rule = rule.replace('"ib_cable_overheat"', f'"{fault}"')
    own = (("optics.toml", rule),)
    log = tmp_path / "some.log"
    log.write_text(line)
    monkeypatch.setattr(log_files, "site", lambda: own)
    document = log_files.diagnose([str(log)])
    (finding,) = document.findings

    assert ((("nic.swap_optics",), [("nic.swap_optics", "advised")])) == (
        tuple(finding["remedies"]),
        [(plan.remedy, plan.decision) for plan in document.plan],
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("1,3}) C", "1,3} C"), "line 8: rule 'site.module_hot': pattern is not a valid express"),
        (("anchor =", "ancor ="), "line 7: rule 'site.module_hot': ancor is no key of a rule; did"),
        (('"warning"', '"grave"'), "line 5: rule 'site.module_hot': severity Input should be"),
        (('message = "the', '# "the'), "line 2: rule 'site.module_hot': message is missing"),
        (("{1,3}", "+"), "line 8: rule 'site.module_hot': pattern has a gap without bound"),
        (('module temperature"', 'modul temperature"'), "anchor is not part of the example"),
        (("ib_cable_overheat", "ib_cable_overheated"), "did you mean ib_cable_overheat?"),
        (("site.module_hot", "nccl.watchdog_timeout"), "stands in diagnostics/rules/data/nccl"),
        (('78 C"]', '78 C"'), "optics.toml, line 12: unclosed array"),
        (("[[rule]]", "[rule]"), "rules stand under [[rule]], and nothing else does"),
        (('"any"', '"kernel"\nadds = "kelvin"'), "adds names 'kelvin', which is no field of kind"),
        (('"any"', '"kernel"\ncodes = "pid"'), "line 7: rule 'site.module_hot': codes Input"),
    ],
)
def test_a_broken_rule_is_said(change: tuple[str, str], said: str) -> None:
    """The file, the line, the rule and the key, and what would be right."""
    wrong = mistake(HOT.replace(*change))

    assert (True, True) == (wrong.what.startswith(NAME), said in wrong.what), wrong.what


def test_the_place_in_an_expression_is_shown() -> None:
    """The lines before it, and a mark under the group that is not closed."""
    wrong = mistake(HOT.replace("1,3}) C", "1,3} C"))
    shown, mark = wrong.excerpt[-2:]

    assert (True, "(") == (shown.startswith("    8 | pattern"), shown[mark.index("^")])


def test_a_mark_stands_where_toml_ends() -> None:
    """A file that is no TOML has its line shown too."""
    wrong = mistake(HOT.replace('severity = "warning"', "severity = warning"))
    shown, mark = wrong.excerpt[-2:]

    assert ("    5 | severity = warning", True) == (shown, mark.endswith("^"))


def test_the_last_good_set_stays() -> None:
    """What runs on keeps its rules while the site's file is broken, and knows why."""

    def broken() -> str:
        checked([RuleFile(NAME, "x")])
        return "newer"

    good, nothing = renewed("old", lambda: "new")
    kept, wrong = renewed(good, broken)

    assert ("new", None, "new", True) == (good, nothing, kept, isinstance(wrong, Mistake))


def test_a_site_without_rules_costs_nothing(tmp_path: Path) -> None:
    """No folder, or an empty one, is no mistake."""
    assert ((), ()) == (knowledge.site(str(tmp_path / "none")), knowledge.site(str(tmp_path)))


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    """Which byte is wrong, and that UTF-8 is wanted."""
    (tmp_path / "a.toml").write_bytes(b"# \xff")
    with pytest.raises(Mistake) as raised:
        knowledge.site(str(tmp_path))

    assert f"{tmp_path}/a.toml: byte 2 is no UTF-8" == raised.value.what


def test_the_example_is_toml() -> None:
    """What these tests change one thing in is well without the change."""
    checked([RuleFile(NAME, HOT)], knowledge.shipped())

    assert 1 == len(tomllib.loads(HOT)["rule"])
