"""What brings a GPU back: the driver's word, then the sub-event's, then the code's."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.subject import Subject
from diagnostics.finding import Evidence, Finding, Severity, Text
from diagnostics.incidents import recovery as of_incident
from diagnostics.knowledge.codes.recovery import ORDER, STATED, STEPS, Heard, recovery
from diagnostics.knowledge.codes.tables import sxids, xids

DBE, REMAPPED, LOST, GSP, MMU = 48, 63, 79, 119, 31


def said(
    *codes: int, xid_154: int | None = None, nvml: int | None = None, sub: str | None = None
) -> tuple[str | None, str] | None:
    """Return action and by whose word for these codes, the first with this sub-event."""
    heard = [Heard(code=code, sub_event=sub if not n else None) for n, code in enumerate(codes)]  # type: ignore[arg-type] # a literal
    advice = recovery(heard, xid_154=xid_154, nvml=nvml)
    return None if advice is None else (advice.action, advice.by)


@pytest.mark.parametrize(("value", "action"), STATED.items())
def test_what_the_driver_states_goes_first(value: int, action: str) -> None:
    """0 to 4 mean the same in all releases, from the log or from NVML."""
    assert [(action, "driver")] * 2 == [said(DBE, xid_154=value), said(DBE, nvml=value)]


def test_nvml_says_what_is_now() -> None:
    """The log's last word may be older than a reset: what NVML answers now goes before it."""
    assert ("none", "driver") == said(DBE, xid_154=1, nvml=0)


@pytest.mark.parametrize("value", [5, 6, 7, 255])
def test_other_values_are_for_a_person(value: int) -> None:
    """From 5 on releases differ: the number is handed on, and nothing is made of it."""
    advice = recovery([Heard(code=LOST)], nvml=value)

    assert advice is not None
    assert (None, "person", value, True) == (
        advice.action,
        advice.by,
        advice.raw,
        str(value) in advice.step,
    )


def test_a_driver_that_wants_nothing_does_not_start_the_job() -> None:
    """Nothing for the GPU is not nothing for its program."""
    assert ("restart_job", "code") == said(MMU, nvml=0)


def test_a_driver_does_not_speak_for_what_it_states_nothing_for() -> None:
    """Xid 119 has no Xid 154: that the driver wants nothing says nothing of its firmware."""
    assert ("reset_gpu", "code") == said(GSP, nvml=0)


def test_a_sub_event_goes_before_its_code() -> None:
    """A 95 whose text asks for a drain is drained first."""
    assert ("drain_and_reset", "sub_event") == said(95, sub="drain_and_reset")


def test_a_repair_beside_a_memory_error_waits_for_the_jobs() -> None:
    """48 with 63: the jobs end, then the reset activates the repair; each alone is less."""
    assert [("reset_gpu", "code"), ("watch", "code"), ("drain_and_reset", "sub_event")] == [
        said(DBE),
        said(REMAPPED),
        said(REMAPPED, DBE),
    ]


def test_nothing_heard_is_no_advice() -> None:
    """Without a code and without the driver's word nothing is proposed."""
    assert (None, None) == (said(), said(4711))


def test_every_recovery_of_the_tables_has_a_step() -> None:
    """What a table can say a person can do, in words of its own."""
    told = {row.recovery for row in itertools.chain(xids().values(), sxids().values())}

    assert (set(), len(STEPS)) == (told - set(STEPS), len(set(STEPS.values())))


@given(st.lists(st.sampled_from([*xids(), 4711]), max_size=6), st.integers(0, 9) | st.none())
def test_more_that_is_heard_never_asks_for_less(codes: list[int], stated: int | None) -> None:
    """One more code does not make the recovery smaller, and the order of lines plays no part."""
    one, all_ = said(*codes[:1], nvml=stated), said(*codes, nvml=stated)
    turned = said(*reversed(codes), nvml=stated)

    assert (all_ or (None,))[0] == (turned or (None,))[0]
    if stated is None and one is not None and all_ is not None:
        assert ORDER.index(all_[0]) >= ORDER.index(one[0])


def finding(name: str, severity: Severity = "critical", **values: object) -> Finding:
    return Finding(
        id=name,
        fault=name,
        severity=severity,
        subject=Subject(kind="gpu", name="0000:4e:00.0"),
        message=name,
        text=Text(key=name),
        evidence=(Evidence(source="kmsg", values=values),),
    )


def test_an_incident_hears_all_of_its_gpu() -> None:
    """A 48 in the log, a 63 beside it, and NVML's answer are one GPU's: the driver's word leads."""
    root = finding("f1", xid=DBE)
    repair = finding("f2", "warning", xid=REMAPPED, sub_event="watch")
    nvml = finding("f3", NVML_FI_DEV_GET_GPU_RECOVERY_ACTION=2)
    told = [of_incident.advice(root, found) for found in ([root, repair], [root, repair, nvml])]

    assert [
        f"{STEPS['drain_and_reset']} (by the sub-event in its line)",
        f"{STEPS['reboot_node']} (by the driver's own word)",
    ] == [of_incident.step(advice) for advice in told if advice is not None]


def test_an_incident_without_codes_has_no_recovery() -> None:
    """A full disk needs no GPU reset."""
    assert None is of_incident.advice(finding("f1"), [])
