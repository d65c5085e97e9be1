"""Whatever is found on whatever node: what acts has every ground for it, each said anew here."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.subject import Subject
from diagnostics.document import Incident
from diagnostics.finding import Evidence, Finding, Stage, Text
from remediations.plan.actions import (
    Decision,
    Fleet,
    Holder,
    KubeNode,
    Past,
    Situation,
    SlurmNode,
)
from remediations.plan.catalog import REMEDIES
from remediations.plan.decide import decide
from remediations.policy import MODES, PROVED, Policy
from tests.remediations.plan.rehearsal import NOW, OURS

DAY = 86_400.0
FAULTS = st.sampled_from(
    [
        *("gpu_fell_off_bus", "gsp_timeout", "fabric_manager_not_ready", "gpu_process_orphaned"),
        *("gpu_lost", "ecc_uncorrectable", "nvlink_down", "gpu_count_mismatch", "driver_hung"),
        *("gpu_thermal_throttle", "nan_loss", "storage_hang"),
    ]
)
NAMES = st.sampled_from(sorted(PROVED))
FORGED = (
    Evidence(source="/var/log/kern.log", line=7, text="NVRM: Xid (PCI:0000:4e:00): 79"),
    Evidence(source="train.log", line=1, values={"xid": 79}),
    Evidence(source="kmsg", line=3, values={"xid": 79}),
    Evidence(source="kmsg", values={"xid": 79, "by_program": True}),
    Evidence(source="/proc/88/environ", text="NVML=lost"),
    Evidence(source="syslog", values={"xid": 79}),
)
SURE = (
    Evidence(source="kmsg", values={"xid": 79}),
    Evidence(source="kmsg", values={"xid": 119}),
    Evidence(source="nvmlDeviceGetFieldValues", values={"NVML_FI_DEV_GET_GPU_RECOVERY_ACTION": 1}),
    Evidence(source="/sys/bus/pci/devices/0000:4e:00.0"),
)
STATES = ("IDLE", "ALLOCATED", "MIXED", "DRAIN", "DOWN", "COMPLETING", "MAINT", "REBOOT_ISSUED")
USUAL = [frozenset({"IDLE"}), frozenset({"MIXED"}), frozenset({"IDLE", "DRAIN"})]
REASONS = (None, "bad fan", "gpudiag is wrong here", f"not by {OURS}")


def mostly(value: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Draw *value*, but for one time in 25: a situation has twenty things that can object."""
    return st.sampled_from([value] * (24 * len(others)) + list(others))


@st.composite
def findings(draw: st.DrawFn, name: str) -> Finding:
    stage: Stage = draw(mostly("driver", "processes", "training"))
    return Finding(
        id=name,
        fault=draw(FAULTS),
        severity=draw(mostly("critical", "warning", "info")),
        stage=stage,
        check=draw(mostly("driver.kernel_log", "gpu.count", "training.symptoms")),
        subject=Subject(kind="gpu", name=draw(st.sampled_from("ab")), serial="s1", pid=88),
        message="m",
        text=Text(key="k"),
        confidence=draw(mostly(0.95, 0.85, 0.5)),
        evidence=tuple(draw(st.lists(st.sampled_from(FORGED + SURE), min_size=1, max_size=3))),
        explained_by=draw(mostly(None, "f9")),
    )


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    return Past(
        key=draw(st.sampled_from(["k", "slurm.drain|gpu-017|gpu_lost|gpu a|boot"])),
        remedy=draw(NAMES),
        serial=draw(st.sampled_from([None, "s1", "s2"])),
        at=NOW - draw(st.floats(min_value=-DAY, max_value=9 * DAY)),
    )


def sometimes(*, usually: bool) -> st.SearchStrategy[bool]:
    return mostly(usually, not usually)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    found = tuple(draw(findings(f"f{n}")) for n in range(draw(st.integers(0, 3))))
    told = tuple(
        Incident(
            id=f"i{n}",
            fingerprint=f"p{n}",
            state=draw(mostly("open", "resolved")),
            subject=one.subject,
            root=draw(mostly(one.id, "f7")),
            sentence="s",
            text=Text(key="k"),
            confidence=0.9,
        )
        for n, one in enumerate(found)
    )
    slurm = SlurmNode(
        name="gpu-017",
        states=draw(st.sampled_from(USUAL) | st.frozensets(st.sampled_from(STATES), max_size=3)),
        reason=draw(mostly(OURS, *REASONS)),
    )
    holder = Holder(pid=88, start_ticks=1, uid=draw(mostly(1004, 0)), comm="nvidia-x")
    kube = KubeNode(name="n", unschedulable=draw(st.booleans()), ours=draw(sometimes(usually=True)))
    return Situation(
        node=draw(mostly("gpu-017", None)),
        boot_id=draw(mostly("boot", None)),
        now=NOW,
        booted_s_ago=draw(mostly(9e4, 10.0, None)),
        incidents=told,
        findings=found,
        blind=draw(mostly(frozenset(), frozenset({"driver.kernel_log", "gpu.count"}))),
        ages_s=draw(mostly({}, {"driver.kernel_log": 600.0})),
        seen_s={i.fingerprint: draw(mostly(600.0, 10.0)) for i in told},
        walks={i.fingerprint: draw(mostly(9, 1)) for i in told},
        clear_s=draw(mostly(9e3, 10.0, None)),
        jobs=draw(mostly((), ("88123",), None)),
        slurm=draw(st.sampled_from([slurm, slurm, slurm, None])),
        kubernetes=draw(st.sampled_from([None, None, kube])),
        holders=draw(st.sampled_from([(), (), (holder,), (holder,), None])),
        duties=draw(mostly((), ("etcd",), None)),
        maintenance=draw(mostly(None, "by ops")),
        policy=Policy(
            mode={name: draw(mostly("act", *MODES)) for name in PROVED},
            allow_unproved=frozenset(PROVED) - draw(st.frozensets(NAMES, max_size=2)),
        ),
        actor=draw(sometimes(usually=True)),
        open_action=draw(mostly(None, "x")),
        history=tuple(draw(st.lists(pasts(), max_size=6) | st.just([]))),
        fleet=draw(
            mostly(
                Fleet(heard_s_ago=1.0),
                None,
                Fleet(heard_s_ago=900.0),
                Fleet(heard_s_ago=1.0, paused=True),
                Fleet(heard_s_ago=1.0, objection="one cause behind 5 nodes"),
            )
        ),
        recorded=draw(sometimes(usually=False)),
        simulated=draw(sometimes(usually=False)),
        person=draw(sometimes(usually=False)),
    )


def acting(given: Situation) -> list[Decision]:
    return [one for one in decide(given) if one.verdict == "acts"]


def takes(decision: Decision) -> str:
    return REMEDIES[decision.action.remedy].takes


def root(decision: Decision, given: Situation) -> Finding | None:
    name = decision.action.incident
    incident = next((one for one in given.incidents if one.fingerprint == name), None)
    return None if incident is None else given.finding(incident.root)


@given(situations())
def test_only_what_the_site_turned_on_acts(given: Situation) -> None:
    """In `act`, with an actor, proved or allowed by name, on a node that is there."""
    assert [] == [
        one.action.remedy
        for one in acting(given)
        if given.policy.mode[one.action.remedy] != "act"
        or not given.actor
        or given.recorded
        or given.simulated
        or (
            one.action.remedy not in given.policy.allow_unproved
            and PROVED[one.action.remedy] not in ("real-tool", "hardware")
        )
    ]


@given(situations())
def test_nothing_acts_on_what_is_not_known(given: Situation) -> None:
    """Neither on a note, nor on a guess, nor on a cause that is none, nor without who and when."""
    unseen = {None}
    assert [] == [
        one.action.remedy
        for one in acting(given)
        if given.node is None
        or given.boot_id is None
        or (takes(one) in ("gpu", "node") and unseen & {given.duties, given.booted_s_ago})
        or (takes(one) == "gpu" and unseen & {given.jobs, given.holders})
        or (
            one.action.incident is not None
            and (
                (found := root(one, given)) is None
                or found.severity == "info"
                or found.explained_by is not None
                or found.check in given.blind
            )
        )
    ]


@given(situations())
def test_forged_text_alone_takes_nothing_away(given: Situation) -> None:
    """Of what an act rests on at least one observation is none that users can write."""
    assert [] == [
        one.action.remedy
        for one in acting(given)
        if takes(one) != "nothing"
        and (found := root(one, given)) is not None
        and (found.stage == "training" or not set(found.evidence) & set(SURE))
    ]


@given(situations())
def test_no_node_is_taken_that_others_need_or_work_on(given: Situation) -> None:
    """Another duty, maintenance, somebody else's drain, a pause, one cause behind many nodes."""
    theirs = given.slurm is not None and bool(
        given.slurm.states & {"DRAIN", "DOWN"}
        and not (given.slurm.reason or "").startswith("gpudiag:")
    )
    fleet = given.fleet
    alone = fleet is None or fleet.heard_s_ago > 120
    stopped = fleet is not None and (fleet.paused or fleet.objection is not None)

    assert [] == [
        one.action.remedy
        for one in acting(given)
        if takes(one) in ("gpu", "node")
        and (
            given.duties
            or given.maintenance
            or theirs
            or stopped
            or (alone and not given.person)
            or given.open_action
        )
    ]


@given(situations())
def test_a_gpu_is_reset_only_where_nothing_of_a_job_is_left(given: Situation) -> None:
    """Drained in Slurm or cordoned, no job known or unknown, no process with a GPU open."""
    assert [] == [
        one.action.remedy
        for one in acting(given)
        if takes(one) == "gpu"
        and (
            given.jobs != ()
            or given.holders != ()
            or (given.slurm is None and given.kubernetes is None)
            or (given.slurm is not None and not given.slurm.states >= {"IDLE", "DRAIN"})
            or (given.slurm is not None and given.slurm.states & {"COMPLETING", "ALLOCATED"})
        )
    ]


@given(situations())
def test_the_ladder_ends_at_a_person(given: Situation) -> None:
    """Five remedies in seven days, of the node or of the part, and two reboots."""
    lately = [
        past
        for past in given.history
        if NOW - past.at < 7 * DAY and REMEDIES[past.remedy].takes != "nothing"
    ]
    reboots = sum(past.remedy == "slurm.reboot" for past in lately)

    assert [] == [
        one.action.remedy
        for one in acting(given)
        if takes(one) != "nothing"
        and (len(lately) >= 5 or (one.action.remedy == "slurm.reboot" and reboots >= 2))
    ]


@given(situations())
def test_one_thing_is_done_at_a_time(given: Situation) -> None:
    """At most one that has steps acts, and each decision has a sentence."""
    decisions = decide(given)

    assert (True, True) == (
        sum(one.verdict == "acts" and bool(one.action.steps) for one in decisions) <= 1,
        all(one.reason and one.reason.isprintable() for one in decisions),
    )


@given(situations())
def test_a_drain_of_somebody_else_is_never_given_back(given: Situation) -> None:
    """What we did not take out, and what is not well for ten minutes, stays out."""
    given = msgspec.structs.replace(given, clear_s=9e3)
    owned = given.slurm is not None and (given.slurm.reason or "").startswith("gpudiag:")
    back = [one for one in acting(given) if one.action.remedy == "slurm.resume"]

    assert [] == [one for one in back if not owned or given.blind]
