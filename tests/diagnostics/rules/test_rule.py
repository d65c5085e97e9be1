"""Shipped rules hold for their own examples; a broken rule is said by file, rule and key."""

import pytest
from pydantic import BaseModel, ConfigDict

from diagnostics.checks.training.loss import loss
from diagnostics.checks.training.symptoms import symptoms
from diagnostics.finding import Kind, Severity
from diagnostics.knowledge.pages import load as pages
from diagnostics.rules.rule import Field, Rule, RuleError, load, objections, parse

RULES = load()
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


class RuleTable(BaseModel):
    """A rule as people write it, stricter than the struct that commands read it into."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    fault: str
    severity: Severity
    kind: Kind = "event"
    subject: str = "log"
    anchor: str
    pattern: str
    fields: dict[str, Field] = {}
    message: str
    example: tuple[str, ...]
    not_example: tuple[str, ...]
    references: tuple[str, ...]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_holds_for_its_own_examples(rule: Rule) -> None:
    """Each example hits, no counter-example does, and the message finds its fields in all."""
    assert [] == list(objections(rule))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_is_whole(rule: Rule) -> None:
    """Each rule has a counter-example, a source, and a fault that `explain` knows."""
    table = {name: getattr(rule, name) for name in rule.__struct_fields__}
    model = RuleTable.model_validate(table)

    assert (True, True, True) == (
        bool(model.example and model.not_example),
        bool(model.references),
        model.fault in pages(),
    )


def test_ids_are_told_apart() -> None:
    """An id stands once, begins with the family of its file, and names no fault."""
    ids = [rule.id for rule in RULES]
    families = {name.partition(".")[0] for name in ids}

    assert (sorted(set(ids)), {"training", "nccl", "cuda"}) == (sorted(ids), families)
    assert set() == set(ids) & set(pages())


def test_each_fault_has_a_check() -> None:
    """What a rule can find, one of the two checks says; neither promises more."""
    expected = {rule.fault for rule in RULES}

    assert expected == {*symptoms.faults, *loss.faults}


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
    ("change", "said"),
    [
        (("1,3}) C", "1,3} C"), "anchor or pattern: no valid expression"),
        (("{1,3}", "+"), "pattern: a gap without bound"),
        (("{ celsius", "{ kelvin"), "fields: they are ['kelvin'], the groups ['celsius']"),
        (("celsius", "count"), "fields: ['count'] have a meaning of their own"),
        (('anchor = "module', 'anchor = "modul '), "anchor: not part of the example"),
        (("78 C", "78 K"), "example: the pattern does not hold"),
        (("has {celsius}", "has {celsius.__class__}"), "message: ['celsius.__class__']"),
        (("temperature unknown", "temperature 9 C"), "not_example: the rule holds"),
    ],
)
def test_a_rule_that_cannot_work_is_objected_to(change: tuple[str, str], said: str) -> None:
    """Each way in which a well-formed rule can be wrong has its sentence, with the key."""
    (rule,) = parse("site.toml", WELL.replace(*change))

    assert [said] == [told[: len(said)] for told in objections(rule)]
