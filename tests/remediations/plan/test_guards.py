"""Each guard: what it objects to, in which words, and that it alone keeps a remedy from acting."""

from typing import Any

import msgspec
import pytest

from diagnostics.finding import Evidence
from remediations.plan.actions import Fleet, Holder, KubeNode, Past, Situation, SlurmNode
from remediations.plan.decide import decide
from remediations.plan.guards import GUARDS
from remediations.policy import PATH, PROVED, Policy
from tests.remediations.plan.rehearsal import DRAINED, NOW
from tests.remediations.plan.sick import INCIDENT, ROOT, drained, of, sick, well

RESET = of(ROOT, fault="gsp_timeout", evidence=(Evidence(source="kmsg", values={"xid": 119}),))
SHELL = Holder(
    pid=4711,
    start_ticks=400,
    uid=1004,
    comm="python",
    cgroup="0::/user.slice/user-1004.slice/session-3.scope",
)
SERVICE = Holder(
    pid=812,
    start_ticks=9,
    uid=0,
    comm="nvidia-persiste",
    cgroup="0::/system.slice/nvidia-persistenced.service",
)


def past(remedy: str, ago_s: float, key: str = "another") -> Past:
    return Past(key=key, remedy=remedy, at=NOW - ago_s)


def modes(**mode: Any) -> Policy:
    names = {"slurm.drain": "act"} | mode
    return Policy(mode=names, allow_unproved=frozenset(PROVED), path="/etc/gpudiag/acting.toml")


def draining(*flags: str, reason: str | None = None, owner: str | None = None) -> SlurmNode:
    return SlurmNode(name="gpu-017", states=frozenset(flags), reason=reason, owner=owner)


DONE_KEY = decide(sick())[0].action.key
FIVE = tuple(past("gpu.reset", 86_400.0 * (n + 1)) for n in range(5))

CASES = [
    (
        "observe",
        sick(policy=modes(**{"slurm.drain": "observe"})),
        ("observed", "slurm.drain is in observe, by /etc/gpudiag/acting.toml"),
    ),
    (
        "advise",
        sick(policy=Policy()),
        (
            "advised",
            f'slurm.drain is in advise; [mode] "slurm.drain" = "act" in {PATH} turns it on',
        ),
    ),
    (
        "actor",
        sick(actor=False),
        ("advised", "no actor answers here: gpudiag-actor is not installed, or not for this user"),
    ),
    ("real", sick(recorded=True), ("refused", "this is a recording")),
    ("real", sick(simulated=True), ("refused", "the GPUs are simulated")),
    (
        "cause",
        sick(of(ROOT, explained_by="f2")),
        ("refused", "gpu_fell_off_bus follows from something else"),
    ),
    ("cause", sick(of(ROOT, confidence=0.7)), ("refused", "it is only 70% sure")),
    (
        "standing",
        sick(incidents=(msgspec.structs.replace(INCIDENT, state="resolved"),)),
        ("refused", "the incident is resolved"),
    ),
    ("unknown", sick(node=None), ("refused", "not known: which node this is")),
    ("unknown", sick(boot_id=None), ("refused", "not known: which boot this is")),
    ("unknown", sick(booted_s_ago=None), ("refused", "not known: when the node was booted")),
    ("unknown", sick(duties=None), ("refused", "not known: what else the node does for others")),
    (
        "unknown",
        sick(blind=frozenset({"driver.kernel_log"})),
        ("refused", "not known: what driver.kernel_log would say"),
    ),
    (
        "unknown",
        sick(blind=frozenset({"jobs.maintenance"})),
        ("refused", "not known: whether people work on the node"),
    ),
    ("unknown", drained(jobs=None), ("refused", "not known: which jobs are on the node")),
    (
        "unknown",
        drained(RESET, holders=None),
        ("refused", "not known: who has the GPUs open"),
    ),
    (
        "unknown",
        well(blind=frozenset({"gpu.count"})),
        ("refused", "not known: what gpu.count would say"),
    ),
    (
        "fresh",
        sick(ages_s={"driver.kernel_log": 150.0}),
        ("waits", "what it rests on is 150 s old"),
    ),
    (
        "evidence",
        sick(of(ROOT, evidence=(Evidence(source="/home/u/kern.log", line=3),))),
        ("refused", "it rests on /home/u/kern.log alone, and users can write that"),
    ),
    (
        "booting",
        sick(booted_s_ago=120.0),
        ("waits", "the node was booted 120 s ago, less than 300 s"),
    ),
    (
        "maintenance",
        sick(maintenance="until 14:00, by ops"),
        ("refused", "the node is in maintenance: until 14:00, by ops"),
    ),
    (
        "maintenance",
        sick(slurm=draining("IDLE", "MAINT")),
        ("refused", "Slurm has the node in maintenance"),
    ),
    (
        "maintenance",
        drained(slurm=draining("IDLE", "DRAIN", "REBOOT_REQUESTED", reason="gpudiag: x")),
        ("refused", "the node is about to be rebooted"),
    ),
    (
        "duty",
        sick(duties=("etcd", "slurmctld")),
        ("refused", "the node has another duty: etcd, slurmctld"),
    ),
    (
        "others",
        drained(slurm=draining("IDLE", "DRAIN", reason="new PSU", owner="ops7")),
        ("refused", "Slurm has it out of use by ops7: new PSU"),
    ),
    (
        "others",
        drained(slurm=draining("DOWN", reason="Not responding")),
        ("refused", "Slurm has it out of use: Not responding"),
    ),
    (
        "others",
        drained(kubernetes=KubeNode(name="n", unschedulable=True, reason="upgrade")),
        ("refused", "it was cordoned by somebody else: upgrade"),
    ),
    ("busy", drained(jobs=("88123",)), ("waits", "job 88123 is on the node")),
    (
        "busy",
        drained(slurm=draining("MIXED", "DRAIN", reason=DRAINED.reason)),
        ("waits", "the node is not drained: DRAIN+MIXED"),
    ),
    (
        "busy",
        drained(slurm=draining("IDLE", "DRAIN", "COMPLETING", reason=DRAINED.reason)),
        ("waits", "the node is not drained: COMPLETING+DRAIN+IDLE"),
    ),
    (
        "busy",
        sick(RESET, slurm=None),
        ("waits", "no scheduler says that the node is out of use"),
    ),
    (
        "holders",
        drained(RESET, holders=(SERVICE, SHELL)),
        ("waits", "a GPU is open in process 4711 (python)"),
    ),
    (
        "settled",
        sick(walks={INCIDENT.fingerprint: 1}),
        ("waits", "it was seen in 1 walks over 600 s; two over 60 s are needed"),
    ),
    (
        "settled",
        sick(seen_s={}),
        ("waits", "it was seen in 20 walks over 0 s; two over 60 s are needed"),
    ),
    (
        "cleared",
        well(clear_s=90.0),
        ("waits", "only for 90 s nothing is wrong; 10 min are needed"),
    ),
    (
        "cleared",
        well(clear_s=None),
        ("waits", "it is not known since when nothing is wrong; 10 min are needed"),
    ),
    (
        "repeated",
        sick(history=(past("slurm.drain", 7200.0, DONE_KEY),)),
        ("refused", "it was done in this boot, and the fault is still there: a person has to look"),
    ),
    (
        "single",
        sick(open_action="gpu.reset of gpu 0000:5d:00.0"),
        ("waits", "another action is not finished: gpu.reset of gpu 0000:5d:00.0"),
    ),
    (
        "cooldown",
        sick(history=(past("slurm.drain", 300.0),)),
        ("waits", "slurm.drain was done lately: not again for 10 min"),
    ),
    (
        "too_often",
        sick(history=FIVE),
        (
            "refused",
            "this node had 5 remedies in 7 days, and 5 are the most: a person has to look",
        ),
    ),
    (
        "paused",
        sick(fleet=Fleet(heard_s_ago=1.0, paused=True)),
        ("waits", "all acting is paused by an operator"),
    ),
    (
        "silent",
        sick(fleet=None),
        ("advised", "no aggregator was heard, and without a lease nothing is taken away"),
    ),
    (
        "silent",
        sick(fleet=Fleet(heard_s_ago=300.0)),
        ("advised", "the aggregator was not heard for 300 s"),
    ),
    (
        "fleet_wide",
        sick(fleet=Fleet(heard_s_ago=1.0, objection="one cause behind 5 nodes of switch=leaf-3")),
        ("refused", "one cause behind 5 nodes of switch=leaf-3"),
    ),
]


@pytest.mark.parametrize(("name", "given", "told"), CASES)
def test_a_guard_objects_in_words(name: str, given: Situation, told: tuple[str, str]) -> None:
    """The verdict and the sentence are those of the one guard that has something against it."""
    first = decide(given)[0]

    assert (name, told) == (first.guard, (first.verdict, first.reason))


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (sick(), "slurm.drain"),
        (drained(), "slurm.reboot"),
        (drained(RESET), "gpu.reset"),
        (drained(RESET, holders=(SERVICE,)), "gpu.reset"),
        (well(), "slurm.resume"),
        (sick(slurm=None, kubernetes=KubeNode(name="n")), "kubernetes.cordon"),
    ],
)
def test_where_nothing_speaks_against_it_the_remedy_acts(given: Situation, remedy: str) -> None:
    """So each case above is one objection and not two."""
    assert [(remedy, "acts", "no guard objects")] == [
        (one.action.remedy, one.verdict, one.reason) for one in decide(given)
    ]


def test_each_guard_is_shown_to_object() -> None:
    """A guard that nothing trips is no guard; `proved` has its own test below."""
    assert {guard.name for guard in GUARDS} == {name for name, _, _ in CASES} | {"proved"}


def test_what_is_not_proved_needs_the_sites_leave() -> None:
    """It is given by name."""
    given = sick(policy=Policy(mode={"slurm.drain": "act"}))
    decision = decide(given)[0]
    refused = f"slurm.drain is only {PROVED['slurm.drain']}, and allow_unproved does not name it"
    enough = PROVED["slurm.drain"] in ("real-tool", "hardware")

    assert ("no guard objects" if enough else refused) == decision.reason


def test_a_person_needs_neither_a_second_look_nor_a_lease() -> None:
    """All else holds for a person, too."""
    alone: dict[str, Any] = {"fleet": None, "walks": {}, "seen_s": {}, "person": True}

    assert ("acts", "refused", "waits", "advised") == (
        decide(sick(**alone))[0].verdict,
        decide(sick(**alone, duties=("etcd",)))[0].verdict,
        decide(drained(**alone, jobs=("88123",)))[0].verdict,
        decide(sick(**alone, policy=Policy()))[0].verdict,
    )


def test_two_faults_of_one_node_are_answered_one_after_the_other() -> None:
    """The graver goes first, the other waits and says for what."""
    second = of(
        ROOT, id="f2", fault="gpu_lost", subject=msgspec.structs.replace(ROOT.subject, name="x")
    )
    other = msgspec.structs.replace(INCIDENT, id="i2", fingerprint="11", root="f2")
    given = sick(
        findings=(ROOT, second),
        incidents=(INCIDENT, other),
        walks={INCIDENT.fingerprint: 9, "11": 9},
        seen_s={INCIDENT.fingerprint: 99.0, "11": 99.0},
    )

    assert [
        ("acts", "no guard objects"),
        ("waits", "another action goes first: slurm.drain for gpu_fell_off_bus"),
    ] == [(one.verdict, one.reason) for one in decide(given)]


def test_the_sites_policy_is_the_first_word() -> None:
    """A node about which all is unknown is not said to be: what is off is off."""
    given = sick(policy=Policy(), duties=None, boot_id=None, actor=False, fleet=None)

    assert "advise" == decide(given)[0].guard
