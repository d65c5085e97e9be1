"""Every check against its cases: tests/cases/<check>.toml, well, ill and unseen."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collectors.facts.observation import Missing, Observation
from diagnostics.catalog import WALK
from diagnostics.check import Check

CASES = Path(__file__).parents[1] / "cases"


def cases(check: Check) -> list[dict[str, Any]]:
    """Return the cases of one check."""
    path = CASES / f"{check.name}.toml"
    loaded: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["case"]
    return loaded


def seen(check: Check, case: dict[str, Any]) -> dict[type[Observation], Observation | Missing]:
    """Rebuild the observations of a case; a shape that the check does not need is an error."""
    shapes = {need.shape.__name__: need.shape for need in check.needs}
    facts: dict[type[Observation], Observation | Missing] = {
        shapes[name]: msgspec.convert(value, shapes[name])
        for name, value in case.get("seen", {}).items()
    }
    for name, value in case.get("missing", {}).items():
        facts[shapes[name]] = msgspec.convert({"what": name, **value}, Missing)
    return facts


def said(check: Check, case: dict[str, Any]) -> dict[str, Any]:
    """Return what the check says of the case, in the form in which cases state it."""
    limits = msgspec.convert(case["limits"], check.limits) if "limits" in case else None
    result = check.run(seen(check, case), limits)
    findings = [
        {"fault": f.fault, "severity": f.severity, "subject": f"{f.subject.kind} {f.subject.name}"}
        for f in result.findings
    ]
    return {"verdict": result.verdict, "findings": findings}


ALL = [pytest.param(c, case, id=f"{c.name}-{case['name']}") for c in WALK for case in cases(c)]


@pytest.mark.parametrize(("check", "case"), ALL)
def test_case(check: Check, case: dict[str, Any]) -> None:
    """The check says of the case exactly what the case states, and nothing more."""
    expected = {"verdict": case["verdict"], "findings": case.get("findings", [])}

    assert expected == said(check, case)


@pytest.mark.parametrize("check", WALK, ids=lambda c: c.name)
def test_every_check_has_a_well_an_ill_and_an_unseen_case(check: Check) -> None:
    """A check lands with all three, and every fault it can name is seen in one of its cases."""
    told = [said(check, case) for case in cases(check)]
    # Xids without a page of their own share one.
    faults = {re.sub(r"^xid_\d+$", "xid_other", f["fault"]) for t in told for f in t["findings"]}
    # A rule of a site names faults that are nobody else's.
    faults = {fault for fault in faults if not fault.startswith("site_")} - {"check_not_run"}

    assert any(t["verdict"] == "ok" and not t["findings"] for t in told)
    assert any(t["verdict"] == "unknown" for t in told)
    assert set(check.faults) == faults
