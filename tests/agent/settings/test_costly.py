"""R23: an expression that backtracks without end is refused when its rule is read."""

import re
import time

import pytest

from agent import knowledge
from agent.cli.errors import Mistake
from agent.settings.costly import costly
from agent.settings.rules import checked, renewed
from diagnostics.rules import rule
from diagnostics.rules.index import RuleFile
from diagnostics.rules.kernel_seen import KernelRule
from tests.agent.settings.test_rules import HOT, NAME
from tests.pace import slower

CATASTROPHIC = [
    (r"lane (\w{0,200}\s?){0,200};", "lane two up;"),
    (r"id=(a|a){1,90}b", "id=aab"),
    (r"(?:(?:a{1,9}){1,9}){1,9}$", "aaa"),
    (r"(\d{1,9},?){1,40}!", "1,2,3!"),
    (r"([a-z]{1,20}\s{0,2}){1,40}!", "is up!"),
    (r"lane.{0,200}.{0,200}.{0,200}.{0,200}up", "lane 4 is up"),
]


@pytest.mark.parametrize(("pattern", "example"), CATASTROPHIC)
def test_one_that_backtracks_is_told_in_no_time(pattern: str, example: str) -> None:
    """Nested repeats, alternatives that are alike, many gaps in a row: told within 2 s, each."""
    began = time.process_time()
    why = costly(re.compile(pattern), [example])
    took = time.process_time() - began

    assert (True, True) == ("ms for a line of" in (why or ""), took < 2.0 * slower())


def test_no_shipped_rule_is_called_costly() -> None:
    """What a site may copy from keeps the bound: 363 rules and more, on lines drawn from theirs."""
    rules = [
        one
        for family in rule.families()
        for one in rule.shipped(family, KernelRule if family.startswith(rule.KERNEL) else rule.Rule)
    ]

    assert (True, []) == (
        len(rules) > 300,
        [(one.id, why) for one in rules if (why := costly(one.compiled, one.example))],
    )


def test_the_last_good_rules_hold() -> None:
    """The rule is named with file and key, its set is not taken, and the one before stays."""
    bad = HOT.replace(r"(?P<celsius>\d{1,3}) C", r"(?P<celsius>(\d{1,3} ?){1,90})C;")
    bad = bad.replace("78 C", "78 C;")

    def load() -> str:
        checked([RuleFile(NAME, bad)], knowledge.shipped())
        return "new"

    held, problem = renewed("old", load)
    assert isinstance(problem, Mistake)

    assert ("old", True) == (
        held,
        problem.what.startswith(f"{NAME}, line 8: rule 'site.module_hot': pattern took "),
    )
