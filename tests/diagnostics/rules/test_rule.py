"""Shipped rules hold for their own examples; a broken rule is said by file, rule and key."""

import msgspec
import pytest

from agent.knowledge import shipped
from agent.settings.rules import KernelRuleTable, RuleTable
from diagnostics.catalog import WALK
from diagnostics.checks.text.tools import tools
from diagnostics.knowledge.pages import load as pages
from diagnostics.rules.index import parsed
from diagnostics.rules.rule import Rule, RuleError, load, objections, parse

RULES = load()
ALL = [rule for file in shipped() for rule in parsed(file)]
TEXT = [rule for rule in ALL if rule.source != "kernel"]
WELL = r"""
[[rule]]
id = "site.module_hot"
fault = "ib_cable_overheat"
severity = "warning"
anchor = "module temperature"
pattern = 'module temperature (?P<celsius>\d{1,3}) C'
fields = { celsius = "int" }
message = "the optical module has {celsius} C"
example = ["qsfp 3: module temperature 78 C"]
not_example = ["module temperature unknown"]
"""


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_rule_holds_for_its_own_examples(rule: Rule) -> None:
    """Each example hits, no counter-example does, and the message finds its fields in all."""
    assert [] == list(objections(rule))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_rule_is_whole(rule: Rule) -> None:
    """Each rule is one that a site could write too, and has a source for what it claims."""
    form = KernelRuleTable if rule.source == "kernel" else RuleTable
    model = form.model_validate(msgspec.json.decode(msgspec.json.encode(rule)))

    assert (rule.id, True) == (model.id, bool(model.references))


def test_ids_are_told_apart() -> None:
    """An id stands once, and names no fault."""
    ids = [rule.id for rule in ALL]

    assert sorted(set(ids)) == sorted(ids)
    assert set() == set(ids) & set(pages())


def test_each_fault_has_a_page_and_a_check() -> None:
    """What a rule for text can find, a check says, and `explain` knows."""
    said = {fault for check in (*WALK, tools) for fault in check.faults}
    faults = {rule.fault for rule in TEXT if "{" not in rule.fault}

    assert (set(), set()) == (faults - said, faults - set(pages()))


def test_a_rule_is_read() -> None:
    """The counter-example's own form: anchor, pattern, fields, message."""
    (rule,) = parse("site.toml", WELL)
    hit = rule.match("x module temperature 81 C")

    assert hit is not None
    assert ("the optical module has 81 C", []) == (
        rule.message.format(**rule.values(hit)),
        list(objections(rule)),
    )


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (WELL.replace('"warning"', '"grave"'), "site.toml: rule 'site.module_hot': Invalid enum"),
        (
            WELL.replace("anchor", "ancor"),
            "site.toml: rule 'site.module_hot': Object contains unknown",
        ),
        (WELL.replace('"ib_cable_overheat"', "7"), "`$.fault`"),
        (WELL.replace("[[rule]]", "[rule]"), "site.toml: rules stand under [[rule]]"),
        ("[[rule]]\nid = ", "site.toml: Invalid value"),
        ("rule = [3]", "site.toml: rule None: Expected `object`"),
    ],
)
def test_what_is_no_rule_is_said(broken: str, said: str) -> None:
    """The error names the file, the rule and the key."""
    with pytest.raises(RuleError) as raised:
        parse("site.toml", broken)

    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (("1,3}) C", "1,3} C"), "pattern", "is not a valid expression"),
        (("{1,3}", "+"), "pattern", "has a gap without bound"),
        (("{ celsius", "{ kelvin"), "fields", "are ['kelvin'], the groups of the pattern"),
        (("celsius", "count"), "fields", "['count'] have a meaning of their own"),
        (('anchor = "module', 'anchor = "modul '), "anchor", "is not part of the example"),
        (('anchor = "module', 'anchor = "module {0,9}'), "anchor", "has a gap"),
        (("78 C", "78 K"), "example", "the pattern does not hold"),
        (("has {celsius}", "has {celsius.__class__}"), "message", "['celsius.__class__']"),
        (("temperature unknown", "temperature 9 C"), "not_example", "the rule holds"),
        (("message", 'named = "{port}"\nmessage'), "named", "names ['port'], which are no fields"),
        (("message", 'over = "module cool"\nmessage'), "over", "and over_anchor go together"),
    ],
)
def test_a_rule_that_cannot_work_is_objected_to(
    change: tuple[str, str], key: str, said: str
) -> None:
    """Each way in which a well-formed rule can be wrong has its sentence, with the key."""
    (rule,) = parse("site.toml", WELL.replace(*change))

    assert (key, said) == next((k, told[: len(said)]) for k, told in objections(rule))
