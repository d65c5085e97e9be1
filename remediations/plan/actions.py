"""What a remedy is, what it would do to a node, and whether it may."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.policy import PROVED, Policy, Proved
from remediations.remedies.job_lines import Compute

# What a remedy takes from those who work on the node while it acts.
Takes = Literal["nothing", "process", "gpu", "node"]
# `acts` is the only one upon which something is done.
Verdict = Literal["acts", "waits", "refused", "advised", "observed"]
# Whether a remedy answers an incident, or the node as it stands (our drain, whose cause is gone).
About = Literal["incident", "node"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the actor: a fixed verb with typed arguments.

    `says` is the step for a person. `undo` takes it back, where something does. `done` is the
    actor's reading verb that tells, with the same arguments, whether it is done already; a step
    whose outcome is unknown is never repeated without asking that. `comes` is the one that tells
    whether what was asked for has come about, where that takes longer than the step.
    """

    verb: str
    args: Mapping[str, Any] = {}
    says: str
    undo: "Step | None" = None
    done: str | None = None
    comes: str | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What one remedy would do about one incident.

    `key` is the same for the same remedy, fault and subject in one boot. `incident` is the
    fingerprint, None for what is about the node. `signature` is the fault as the mass guard counts
    it. `verify` are the checks that are run again afterwards.
    """

    key: str
    remedy: str
    incident: str | None = None
    fault: str
    subject: str
    serial: str | None = None
    signature: str
    steps: tuple[Step, ...]
    verify: tuple[str, ...] = ()
    risk: str


class SlurmNode(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller says of this node; `owner` is who gave the reason."""

    name: str
    states: frozenset[str]
    reason: str | None = None
    owner: str | None = None


class KubePod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that has a GPU, `namespace/name`; `dead` where none of its containers runs any more."""

    name: str
    uid: str
    dead: bool = False


class KubeNode(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server says of this node; `ours` tells whether our own taint stands."""

    name: str
    unschedulable: bool = False
    ours: bool = False
    reason: str | None = None
    pods: tuple[KubePod, ...] = ()


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has a GPU open; `own` is one of our helpers."""

    pid: int
    start_ticks: int
    uid: int | None
    comm: str
    cgroup: str = ""
    devices: tuple[str, ...] = ()
    own: bool = False


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """An action of this node or of this serial, as the actor's journal or the aggregator has it.

    `at` is epoch seconds; `outcome` is open, done, failed or rolled_back.
    """

    key: str
    remedy: str
    serial: str | None = None
    at: float
    outcome: str = "done"


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What the aggregator said last; `objection` is its sentence against acting, if any."""

    heard_s_ago: float
    paused: bool = False
    objection: str | None = None


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision rests on; None is "not known" wherever it stands, and never "none".

    `seen_s` and `walks` are by fingerprint for how long and in how many walks an incident stood,
    `clear_s` is for how long none did.
    `blind` are the checks that saw too little, `ages_s` how old that is which the others were
    shown. `jobs` are the jobs of this node, `lost_jobs` those that may be requeued and have nothing
    left of a step that runs here by the scheduler. `duties` are what it does for others (slurmctld,
    etcd).
    `no_gpu` says that no GPU is to be seen here, nor a driver of one.
    `person` is at the keyboard and asks for it; `rehearsal` is a test that lets recordings act.
    """

    node: str | None
    boot_id: str | None
    now: float
    booted_s_ago: float | None = None
    incidents: tuple[Incident, ...] = ()
    findings: tuple[Finding, ...] = ()
    blind: frozenset[str] = frozenset()
    no_gpu: bool = False
    ages_s: Mapping[str, float] = {}
    seen_s: Mapping[str, float] = {}
    walks: Mapping[str, int] = {}
    clear_s: float | None = None
    jobs: tuple[str, ...] | None = None
    lost_jobs: tuple[str, ...] = ()
    slurm: SlurmNode | None = None
    kubernetes: KubeNode | None = None
    holders: tuple[Holder, ...] | None = None
    duties: tuple[str, ...] | None = None
    maintenance: str | None = None
    network: Compute | None = None
    policy: Policy = Policy()
    actor: bool = False
    open_action: str | None = None
    history: tuple[Past, ...] = ()
    fleet: Fleet | None = None
    recorded: bool = False
    simulated: bool = False
    rehearsal: bool = False
    person: bool = False

    def finding(self, name: str) -> Finding | None:
        """Return the finding of that id."""
        return next((one for one in self.findings if one.id == name), None)


Propose = Callable[[Situation, Incident | None, Finding | None], Action | None]


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the catalogue.

    `faults` are those that it answers, empty where `propose` asks more than the fault's id.
    `verbs` are all that the actor lets it use. Times are seconds: between two of it on a node, and
    until it must be done.
    """

    name: str
    does: str
    about: About = "incident"
    faults: frozenset[str] = frozenset()
    takes: Takes
    precondition: str
    risk: str
    verification: str
    cooldown_s: float
    deadline_s: float
    verbs: frozenset[str]
    propose: Propose

    @property
    def proved(self) -> Proved:
        """Return how it was shown to work."""
        return PROVED[self.name]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an action is done, and the sentence that says why or why not.

    `guard` is the name of the guard whose objection it is.
    """

    action: Action
    verdict: Verdict
    reason: str
    guard: str | None = None


def key(remedy: str, situation: Situation, fault: str, subject: str) -> str:
    """Return the name under which an action is done once: remedy, node, fault, subject, boot."""
    return "|".join((remedy, situation.node or "", fault, subject, situation.boot_id or ""))
