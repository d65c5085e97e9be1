"""The JSON of acting and what stops it: leases, actions, heat, maintenance, switches."""

from typing import Literal

from pydantic import AwareDatetime, Field

from aggregator.api.documents import Asked, Document, NodeName, Sentence, Word


class LeaseRequest(Asked):
    """A node asks to be taken away, for at most so many seconds."""

    node: NodeName
    remedy: Word
    seconds: float = Field(gt=0, le=86_400)
    serial: Word | None = None
    signature: Word | None = None
    fault: Word | None = None


class ActionRequest(Asked):
    """A node tells what became of an action of its own."""

    node: NodeName
    what: Literal["begun", "done", "failed", "rolled_back", "handed_over", "untouched"]
    remedy: Word
    subject: Sentence | None = None
    serial: Word | None = None
    fault: Word | None = None
    signature: Word | None = None
    lease: Word | None = None
    reason: Sentence


class Action(Document):
    """What was done to a node or refused, for good."""

    time: AwareDatetime
    node: str
    what: str
    remedy: str
    subject: str | None
    serial: str | None
    fault: str | None
    signature: str | None
    lease: str | None
    reason: str


class Actions(Document):
    """What was done, newest first; `next` is the cursor of the page behind, null on the last."""

    items: tuple[Action, ...]
    next: str | None


class Rise(Document):
    """Heat on many nodes of one place (`rack=r07`) at once: one incident of the facility."""

    place: str
    since: AwareDatetime
    nodes: tuple[str, ...]
    says: str


class Facility(Document):
    """The places that get hot now."""

    items: tuple[Rise, ...]


class ActionsQuery(Asked):
    """A page of what was done, to one node or to all."""

    node: NodeName | None = None
    cursor: str | None = Field(default=None, max_length=400)
    limit: int = Field(default=200, ge=1, le=1000)


class Lease(Document):
    """It may, until `expires`; give it back as soon as the node is well."""

    id: str
    node: str
    remedy: str
    granted: AwareDatetime
    expires: AwareDatetime
    places: tuple[str, ...]


class Leases(Document):
    """Nodes that are out by us."""

    items: tuple[Lease, ...]


class MaintenanceRequest(Asked):
    """People work on a node; 0 hours ends it."""

    node: NodeName
    hours: float = Field(ge=0, le=24 * 90)
    reason: Sentence


class Maintenance(Document):
    """A node that people work on."""

    node: str
    until: AwareDatetime
    reason: str
    by: str
    created: AwareDatetime


class Maintenances(Document):
    """All that have not ended."""

    items: tuple[Maintenance, ...]


class PauseRequest(Asked):
    """Stop or allow all acting on all nodes."""

    paused: bool
    reason: Sentence


class ResetRequest(Asked):
    """Close the breaker again."""

    reason: Sentence


class Switch(Document):
    """A switch over the fleet."""

    on: bool
    since: AwareDatetime | None
    by: str | None
    reason: str | None
