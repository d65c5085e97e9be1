"""What the local socket answers: one function a question; each gets the peer and what it asked."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from agent.daemon.cost import Cost
from agent.daemon.gpus import GpuRow
from agent.daemon.peer import Peer
from agent.daemon.sampler import SourceState
from agent.daemon.view import Owners, restricted
from agent.daemon.walker import Walk
from collectors.facts.observation import Observation
from collectors.gpu.caps import PowerCaps
from diagnostics.document import Document, plain
from diagnostics.incidents.life import Life
from remediations.plan.situation import Acting

SCHEMA = "gpudiag.status/1"
# By INTERFACES: what is older takes no node out.
HOOK_FRESH_S = 60.0
LONGEST_RELEASE_S = 24 * 3600.0
MOST_NAMES = 64
TOLD = ("fleet", "kubernetes", "seen_s", "walks", "clear_s")
ANSWERED = "status, hook, release-gpus, observations, incident, acknowledge and acting"


class Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The question gets no answer; the message says why."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon itself; `problems` are sentences, each worth a look, none a fault of the node."""

    product: str
    pid: int
    up_s: float
    walk_s: float
    walks: int
    cost: Cost
    helpers: int
    left_behind: int
    log_left_out: int
    mode: str = "observe"
    ended_before: str | None = None
    released_until: float | None = None
    problems: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `status`; `diagnosis` is None until a walk was finished.

    `stages_s` is by stage how long ago the oldest of what is looked at for each walk was seen;
    `caps` is what is held down because of heat, None where that is nothing.
    """

    schema: str = SCHEMA
    node: str | None
    age_s: float | None
    diagnosis: dict[str, Any] | None
    stages_s: Mapping[str, float] = {}
    agent: About
    gpus: tuple[GpuRow, ...]
    sources: Sequence[SourceState]
    caps: PowerCaps | None = None


class Daemon(Protocol):
    """What the answers are made of."""

    walk: Walk | None

    def age_s(self) -> float | None:
        """Return how long ago the last walk was finished."""
        ...

    def about(self) -> About:
        """Return what the daemon says of itself."""
        ...

    def gpus(self) -> tuple[GpuRow, ...]:
        """Return the GPUs, one row each."""
        ...

    def owners(self) -> Owners:
        """Return whose jobs and processes are whose."""
        ...

    def sources(self) -> list[SourceState]:
        """Return every source, as it stands."""
        ...

    def drain(self) -> frozenset[str]:
        """Return the faults that the policy names."""
        ...

    async def release(self, seconds: float) -> list[str]:
        """Let go of the driver for so long, return what still holds it; 0 asks it again."""
        ...

    def newest(self, name: str) -> tuple[Observation, float] | None:
        """Return the newest observation of that name with its age; None where there is none."""
        ...

    def story(self, name: str) -> Document | None:
        """Return what was told last of an incident that is over; None where none is kept."""
        ...

    def acknowledge(self, name: str) -> Life | None:
        """Note that a person knows of an incident; None where none has this fingerprint."""
        ...

    def acting(self) -> Acting:
        """Return what the plan of the last walk rested on beside it."""
        ...


async def answer(  # noqa: PLR0911 - one return a question
    daemon: Daemon, peer: Peer, question: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - JSON
    """Return the answer to one question; raises Refused."""
    match question.get("ask"):
        case "status":
            return status(daemon, peer)
        case "hook":
            return hook(daemon)
        case "release-gpus":
            return await _release(daemon, peer, question.get("seconds"))
        case "observations":
            return observations(daemon, peer, question.get("names"))
        case "incident":
            return incident(daemon, peer, question.get("incident"))
        case "acknowledge":
            return acknowledge(daemon, peer, question.get("incident"))
        case "acting":
            return acting(daemon, peer)
    raise Refused(f"no such question: {ANSWERED} are answered")


def status(daemon: Daemon, peer: Peer) -> Status:
    """Return what the daemon last saw, as far as this peer may see it."""
    walk = daemon.walk
    diagnosis = None if walk is None else plain(walk.document)
    rows = daemon.gpus()
    if not peer.trusted:
        rows = tuple(_own_row(row, peer.uid) for row in rows)
        if diagnosis is not None:
            diagnosis = restricted(diagnosis, peer.uid, daemon.owners())
    return Status(
        node=walk.document.node if walk else None,
        age_s=daemon.age_s(),
        diagnosis=diagnosis,
        stages_s=_stages(walk, daemon.age_s()),
        agent=daemon.about(),
        gpus=rows,
        sources=daemon.sources(),
        caps=_caps(daemon),
    )


def _caps(daemon: Daemon) -> PowerCaps | None:
    """Return what is held down, or in a person's hands, with the time of now."""
    seen, age = daemon.newest("PowerCaps") or (None, 0.0)
    if not isinstance(seen, PowerCaps) or not (seen.held or seen.handed_over):
        return None
    return msgspec.structs.replace(seen, now=seen.now + age, ended=())


def _stages(walk: Walk | None, age_s: float | None) -> dict[str, float]:
    if walk is None or age_s is None:
        return {}
    return {stage: then + age_s for stage, then in walk.stages_s.items()}


def _own_row(row: GpuRow, uid: int) -> GpuRow:
    if set(row.uids) <= {uid}:
        return row
    return msgspec.structs.replace(row, jobs=(), uids=())


def hook(daemon: Daemon) -> dict[str, Any]:
    """Return the verdict, its age, and the faults that are reason enough to take the node out.

    Reason enough is a fault that the policy names, critical, still there, seen within the last
    minute, and not from text that a user can write.
    """
    walk, age = daemon.walk, daemon.age_s()
    if walk is None or age is None:
        return {"verdict": None, "age_s": None, "drain": []}
    named = daemon.drain()
    reasons = [
        {"fault": finding["fault"], "message": finding["message"]}
        for finding in walk.document.findings
        if finding["fault"] in named
        and finding["severity"] == "critical"
        and finding["stage"] != "training"
        and walk.ages_s.get(finding["check"], 0.0) + age < HOOK_FRESH_S
    ]
    return {"verdict": walk.document.verdict, "age_s": age, "drain": reasons}


async def _release(daemon: Daemon, peer: Peer, seconds: object) -> dict[str, Any]:
    if not peer.trusted:
        raise Refused("only root and the group gpudiag may have the GPUs released")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Refused("seconds must be a number")
    if not 0 <= seconds <= LONGEST_RELEASE_S:
        raise Refused("the GPUs can be released for at most 24 h")
    left = await daemon.release(float(seconds))
    return {"until": daemon.about().released_until, "left": left}


def observations(daemon: Daemon, peer: Peer, names: object) -> dict[str, Any]:
    """Return the newest observations of these names, each with its age."""
    if not peer.trusted:
        raise Refused("only root and the group gpudiag may take observations from the agent")
    if not isinstance(names, list):
        raise Refused("names must be a list")
    found = {str(name): daemon.newest(str(name)) for name in names[:MOST_NAMES]}
    return {
        name: {"seen": seen[0], "age_s": seen[1]}
        for name, seen in found.items()
        if seen is not None
    }


def incident(daemon: Daemon, peer: Peer, name: object) -> dict[str, Any]:
    """Return the diagnosis that told an incident last which is over, as this peer may see it."""
    told = daemon.story(str(name))
    seen = {} if told is None else plain(told)
    if told is not None and not peer.trusted:
        seen = restricted(seen, peer.uid, daemon.owners())
    if not seen.get("incidents"):
        raise Refused(f"the agent knows no incident {str(name)[:40]}")
    return seen


def acknowledge(daemon: Daemon, peer: Peer, name: object) -> Life:
    """Return the life of an incident that a person knows of from now on."""
    if not peer.trusted:
        raise Refused("only root and the group gpudiag may acknowledge an incident")
    life = daemon.acknowledge(str(name))
    if life is None:
        raise Refused(f"the agent knows no incident {str(name)[:40]}")
    return life


def acting(daemon: Daemon, peer: Peer) -> dict[str, Any]:
    """Return what a plan rests on and only the agent knows: since when, and the fleet's word."""
    if not peer.trusted:
        raise Refused("only root and the group gpudiag may ask what the agent would do")
    now = daemon.acting()
    return {name: getattr(now, name) for name in TOLD}
