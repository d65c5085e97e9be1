"""Whatever is found on whatever node: what acts has every ground for it, each said anew here."""

from typing import Any

import msgspec
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from diagnostics.finding import Evidence, Finding
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
from tests.remediations.plan.sick import ROOT, drained, of, sick, well

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


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    return Past(
        key=draw(st.sampled_from(["k", "slurm.drain|gpu-017|gpu_lost|gpu a|boot"])),
        remedy=draw(NAMES),
        serial=draw(st.sampled_from([None, "s1", "s2"])),
        at=NOW - draw(st.floats(min_value=-DAY, max_value=9 * DAY)),
    )


def slurm_nodes() -> st.SearchStrategy[SlurmNode]:
    return st.builds(
        SlurmNode,
        name=st.just("gpu-017"),
        states=st.sampled_from(USUAL) | st.frozensets(st.sampled_from(STATES), max_size=3),
        reason=st.sampled_from([OURS, *REASONS]),
    )


HOLDER = Holder(pid=88, start_ticks=1, uid=1004, comm="nvidia-x")
# What can be otherwise about the root of an incident, and about its node.
ROOTS: dict[str, st.SearchStrategy[Any]] = {
    "severity": st.sampled_from(["info", "warning"]),
    "stage": st.sampled_from(["processes", "training"]),
    "check": st.sampled_from(["gpu.count", "training.symptoms", "text.tools"]),
    "confidence": st.sampled_from([0.5, 0.85]),
    "explained_by": st.just("f9"),
    "evidence": st.lists(st.sampled_from(FORGED + SURE), max_size=3).map(tuple),
}
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "node": st.none(),
    "boot_id": st.none(),
    "booted_s_ago": st.sampled_from([10.0, None]),
    "blind": st.frozensets(
        st.sampled_from(["driver.kernel_log", "gpu.count", "jobs.maintenance", "host.clock"])
    ),
    "ages_s": st.just({"driver.kernel_log": 600.0}),
    "seen_s": st.just({}),
    "walks": st.just({}),
    "clear_s": st.sampled_from([10.0, None]),
    "jobs": st.sampled_from([("88123",), None]),
    "slurm": st.none() | slurm_nodes(),
    "kubernetes": st.builds(
        KubeNode, name=st.just("n"), unschedulable=st.booleans(), ours=st.booleans()
    ),
    "holders": st.sampled_from([(HOLDER,), None]),
    "duties": st.sampled_from([("etcd",), None]),
    "maintenance": st.just("by ops"),
    "lost_jobs": st.just(("88123",)),
    "policy": st.builds(
        Policy,
        mode=st.dictionaries(NAMES, st.sampled_from(MODES)),
        allow_unproved=st.frozensets(NAMES),
    ),
    "actor": st.just(value=False),
    "open_action": st.just("x"),
    "history": st.lists(pasts(), max_size=8).map(tuple),
    "fleet": st.sampled_from(
        [
            None,
            Fleet(heard_s_ago=900.0),
            Fleet(heard_s_ago=1.0, paused=True),
            Fleet(heard_s_ago=1.0, objection="one cause behind 5 nodes"),
        ]
    ),
    "recorded": st.just(value=True),
    "simulated": st.just(value=True),
    "person": st.just(value=True),
}


@st.composite
def roots(draw: st.DrawFn) -> Finding:
    """A root that is ground enough, with up to two things otherwise."""
    sure = tuple(draw(st.lists(st.sampled_from(SURE), min_size=1, max_size=2)))
    root = of(ROOT, fault=draw(FAULTS), evidence=sure)
    root = of(root, subject=msgspec.structs.replace(root.subject, pid=HOLDER.pid))
    other = draw(st.lists(st.sampled_from(sorted(ROOTS)), max_size=2, unique=True))
    changed: Finding = of(root, **{name: draw(ROOTS[name]) for name in other})
    return changed


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """A situation in which a remedy acts, with up to three things otherwise."""
    root = draw(roots())
    given = draw(st.sampled_from([sick(root), drained(root), well()]))
    # What is held by the one process that an orphan's end is about keeps a reset waiting.
    given = msgspec.structs.replace(given, holders=draw(st.sampled_from([(), (HOLDER,)])))
    other = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True))
    changed: Situation = msgspec.structs.replace(
        given, **{name: draw(FIELDS[name]) for name in other}
    )
    return changed


def acting(given: Situation) -> list[Decision]:
    return [one for one in decide(given) if one.verdict == "acts"]


def takes(decision: Decision) -> str:
    return REMEDIES[decision.action.remedy].takes


def root(decision: Decision, given: Situation) -> Finding | None:
    name = decision.action.incident
    incident = next((one for one in given.incidents if one.fingerprint == name), None)
    return None if incident is None else given.finding(incident.root)


@pytest.mark.parametrize(
    "remedy",
    [
        *("slurm.drain", "slurm.reboot", "slurm.resume"),
        *("gpu.reset", "gpu.power_cap", "process.end_orphan"),
    ],
)
def test_what_is_drawn_lets_each_remedy_act(remedy: str) -> None:
    """What is held below is held of acts, and not of silence."""

    def does(given: Situation) -> bool:
        return remedy in [one.action.remedy for one in acting(given)]

    assert does(find(situations(), does, settings=settings(max_examples=3000)))


@given(situations())
def test_only_what_the_site_turned_on_acts(given: Situation) -> None:
    """In `act`, with an actor, proved or allowed by name, on a node that is there."""
    assert [] == [
        one.action.remedy
        for one in acting(given)
        if given.policy.of(one.action.remedy) != "act"
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
        and (found.stage == "training" or not any(e in SURE for e in found.evidence))
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
def test_a_job_is_requeued_only_from_a_node_that_we_took_out(given: Situation) -> None:
    """It is one that lost its ranks here; in use, or out by somebody else, the node keeps it."""
    ours = given.slurm is not None and bool(
        given.slurm.states & {"DRAIN", "DOWN"} and (given.slurm.reason or "").startswith("gpudiag:")
    )

    assert [] == [
        one.action.key
        for one in acting(given)
        if one.action.remedy == "slurm.requeue" and not (ours and given.lost_jobs)
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
