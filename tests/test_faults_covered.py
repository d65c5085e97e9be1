"""Every fault with a page is found by something, and something shows that it is."""

import tomllib
from pathlib import Path

from diagnostics.catalog import WALK
from diagnostics.knowledge.pages import load as pages
from diagnostics.rules import kernel, rule

CASES = Path(__file__).parent / "cases"
RULES = (*rule.load(), *kernel.load())
# The frame of checks says it where a check could not see what it needs.
FRAME = frozenset({"check_not_run"})

# Known and explained, and found by nothing yet: what is still to be built, and in which part.
LATER: dict[str, frozenset[str]] = {
    "step 5: logs of training and of schedulers": frozenset(
        {
            "checkpoint_slow",
        }
    ),
    "step 4: the agent, the aggregator and the fleet": frozenset(
        {
            *("node_lost", "version_drift", "gpu_model_mixed", "queue_wait_high"),
            *("collector_stuck", "report_undelivered", "aggregator_unreachable"),
        }
    ),
    "step 8: power": frozenset(
        {
            "rack_power_near_budget",
        }
    ),
}


def producers() -> set[str]:
    """Return the faults that a check or a rule names."""
    return {*(f for check in WALK for f in check.faults), *(one.fault for one in RULES), *FRAME}


def shown() -> set[str]:
    """Return the faults that a case finds, or an example of a rule shows."""
    cases = (case for file in CASES.glob("*.toml") for case in _cases(file))
    found = {finding["fault"] for case in cases for finding in case.get("findings", ())}
    return found | {one.fault for one in RULES if one.example}


def _cases(file: Path) -> list[dict[str, list[dict[str, str]]]]:
    held: list[dict[str, list[dict[str, str]]]] = tomllib.loads(file.read_text())["case"]
    return held


def test_what_has_no_producer_is_listed_with_its_step() -> None:
    """Whatever lacks a check and a rule is in the table above, and nothing else is."""
    later = set().union(*LATER.values())

    assert sorted(later) == sorted(set(pages()) - producers())


def test_the_knowledge_of_nodes_is_whole() -> None:
    """Processes, driver, BMC and kernel log (steps 1 to 3) leave no fault without a producer."""
    assert [] == [step for step in LATER if int(step.split()[1].rstrip(":")) <= 3]


def test_what_has_a_producer_is_shown() -> None:
    """No check and no rule promises a fault that nothing has ever been seen to find."""
    assert [] == sorted((set(pages()) & producers()) - shown())


def test_a_fault_is_left_for_one_step() -> None:
    """Each is listed once."""
    every = [fault for faults in LATER.values() for fault in faults]

    assert len(set(every)) == len(every)
