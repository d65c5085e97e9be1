"""What a change tells and what it leaves to the snapshot."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.outbox import reports
from agent.outbox.reports import About, Known
from aggregator.wire import Part, Report

ABOUT = About(node="gpu-017", boot_id="5f0c", product="gpudiag 0.1.0", machine="board-1")
CHECKS = ("driver.kernel_log", "gpu.count")


def finding(fault: str, check: str = CHECKS[0], **over: Any) -> dict[str, Any]:
    """Return a finding about a GPU as the document holds it."""
    base: dict[str, Any] = {
        "id": "f1",
        "fault": fault,
        "severity": "critical",
        "kind": "condition",
        "stage": "driver",
        "check": check,
        "rule": None,
        "subject": {"kind": "gpu", "name": "0000:4e:00.0", "node": "gpu-017"},
        "message": f"{fault}, 1 min ago",
        "text": {"key": fault, "args": {}},
        "count": 1,
        "evidence": [],
    }
    return {**base, **over}


def diagnosis(*findings: dict[str, Any], blind: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a diagnosis in which the checks *blind* saw nothing."""
    lines = [
        {"check": c, "verdict": "unknown" if c in blind else "ok", "message": "-"} for c in CHECKS
    ]
    stage = {"name": "driver", "verdict": "fault", "checks": lines}
    return {"verdict": "fault", "stages": [stage], "findings": list(findings), "incidents": []}


def known(*findings: dict[str, Any]) -> dict[str, Known]:
    """Return what is known after *findings* were told."""
    return dict(reports.compare({}, diagnosis(*findings), "gpu-017").known)


def told(before: dict[str, Known], now: dict[str, Any]) -> tuple[list[str], int]:
    """Return the faults that a comparison tells, and how many cleared."""
    changes = reports.compare(before, now, "gpu-017")
    return [f["fault"] for f in changes.findings], len(changes.cleared)


def test_a_new_finding_is_told_once() -> None:
    """What appeared is told; the same again is no change."""
    now = diagnosis(finding("gpu_lost"))
    assert ((["gpu_lost"], 0), ([], 0)) == (told({}, now), told(known(finding("gpu_lost")), now))


def test_ages_and_counts_are_no_change() -> None:
    """The same fault seen ten thousand times, or a minute older, is told once."""
    later = finding("gpu_lost", message="gpu_lost, 2 min ago", count=10_000, id="f7")
    assert ([], 0) == told(known(finding("gpu_lost")), diagnosis(later))


def test_a_worse_severity_is_a_change() -> None:
    """A warning that became critical is told."""
    before = known(finding("gpu_hot", severity="warning"))
    assert (["gpu_hot"], 0) == told(before, diagnosis(finding("gpu_hot")))


def test_what_is_gone_is_cleared() -> None:
    """A finding that its check no longer makes is cleared by its fingerprint."""
    before = known(finding("gpu_lost"))
    changes = reports.compare(before, diagnosis(), "gpu-017")
    assert (tuple(before), {}) == (changes.cleared, dict(changes.known))


def test_unseen_is_not_cleared() -> None:
    """A finding whose check is blind stays known, and is cleared when the check sees again."""
    before = known(finding("gpu_lost"))
    blind = reports.compare(before, diagnosis(blind=CHECKS), "gpu-017")
    seeing = reports.compare(blind.known, diagnosis(), "gpu-017")
    assert ((), before, tuple(before)) == (blind.cleared, dict(blind.known), seeing.cleared)


def test_alike_findings_are_told_together() -> None:
    """Two findings of one fault of one thing share a fingerprint and count as one."""
    now = diagnosis(finding("gpu_lost"), finding("gpu_lost", message="other words"))
    assert (["gpu_lost"], 0) == told({}, now)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), unique=True), max_size=8))
def test_changes_add_up_to_the_state(walks: list[list[str]]) -> None:
    """Who applies all changes in order has the findings of the last walk."""
    state: set[str] = set()
    before: Any = {}
    for faults in walks:
        changes = reports.compare(before, diagnosis(*map(finding, faults)), "gpu-017")
        before = changes.known
        state = (state | {f["fingerprint"] for f in changes.findings}) - set(changes.cleared)
    last = {reports.fingerprint("gpu-017", finding(f)) for f in (walks[-1] if walks else [])}
    assert last == state


def test_no_change_no_report() -> None:
    """Where nothing changed there is nothing to send."""
    now = diagnosis(finding("gpu_lost"))
    changes = reports.compare(known(finding("gpu_lost")), now, "gpu-017")
    assert reports.change(ABOUT, now, changes, 1.0) is None


def test_a_change_is_masked_and_names_its_findings() -> None:
    """A change holds the findings with fingerprints, masked, and the verdict of the whole."""
    now = diagnosis(finding("gpu_lost", message="see /home/alice/x"))
    report = reports.change(ABOUT, now, reports.compare({}, now, "gpu-017"), 1.0)
    assert report is not None
    shown = report.findings[0]
    name = reports.fingerprint("gpu-017", finding("gpu_lost"))
    assert ("change", "fault", "see [path]", name) == (
        report.kind,
        report.verdict,
        shown["message"],
        shown["fingerprint"],
    )


def test_a_heartbeat_says_no_more_than_the_verdict() -> None:
    """A heartbeat is small, with the age of each stage: 30 s apart, from each node, for ever."""
    ages = {"processes": 12.3, "driver": 14.1, "network": 8.0, "training": 29.9}
    beat = reports.heartbeat(ABOUT, "ok", 1.0, ages)
    assert (ages, True) == (beat.stages_s, len(msgspec.json.encode(beat)) < 300)


def test_a_snapshot_holds_everything() -> None:
    """A snapshot has the diagnosis with fingerprints, the parts, versions and gauges."""
    part = Part(kind="gpu", serial="1652922011803", slot="0000:4e:00.0")
    report = reports.snapshot(
        ABOUT,
        diagnosis(finding("gpu_lost")),
        1.0,
        parts=(part,),
        versions={"driver": "580.105.08"},
        gauges={"gpu_temperature_c": 41.0},
    )
    again = msgspec.json.decode(msgspec.json.encode(report), type=Report)
    assert report.diagnosis is not None
    assert (report, True) == (again, "fingerprint" in report.diagnosis["findings"][0])
