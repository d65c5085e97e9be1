"""The JSON of the API, one model a document; OpenAPI is made from these."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$")]
Word = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Sentence = Annotated[str, Field(min_length=1, max_length=500)]


def moment(seconds: float) -> datetime:
    """Return epoch seconds as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


class Document(BaseModel):
    """What is answered."""

    model_config = ConfigDict(frozen=True)


class Asked(BaseModel):
    """What is sent; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(Document):
    """RFC 9457: why something was refused."""

    type: str
    title: str
    status: int
    detail: str
    instance: str


# Device, seconds since the last answer, P_Key, LID.
Way = tuple[str, float, int | None, int | None]


# Value, how many nodes have it, some of them.
Alike = tuple[str | None, int, tuple[str, ...]]


class Compared(Document):
    """Of how many nodes of a job is known how it is set up, and in what they differ."""

    nodes: int
    differing: dict[str, tuple[Alike, ...]] = {}


class Receipt(Document):
    """What became of a batch; sent after it is on disk."""

    accepted: int = 0
    duplicates: int = 0
    rejected: dict[int, str] = {}
    paused: bool = False
    serving: dict[str, tuple[str, ...]] = {}
    worked: dict[str, tuple[Way, ...]] = {}
    jobs: dict[str, Compared] = {}


class Node(Document):
    """A node as it was last heard; `age_s` is the time since."""

    node: str
    state: Literal["ok", "late", "lost", "maintenance"]
    verdict: Literal["ok", "warning", "fault", "unknown"]
    age_s: float
    received: AwareDatetime
    first_seen: AwareDatetime
    snapshot_age_s: float | None
    boot_id: str
    machine: str | None
    product: str
    simulated: bool
    dropped: int
    maintenance_until: AwareDatetime | None
    maintenance_reason: str | None
    places: tuple[str, ...]


class NodePage(Document):
    """Nodes by name; `next` is the cursor of the page behind, null on the last one."""

    items: tuple[Node, ...]
    next: str | None


class Part(Document):
    """A part by its serial number; a port by its GUID, with its rail and its switch."""

    kind: str
    serial: str
    slot: str
    model: str | None
    firmware: str | None
    rail: int | None
    switch: str | None
    switch_port: int | None


class Event(Document):
    """What the aggregator noticed of a node by itself."""

    kind: str
    time: AwareDatetime
    text: str


class NodeDetail(Node):
    """A node with all that it said; `clock_offset_s` is its clock against ours, as last sent.

    `stages_s` is by stage how long ago, in seconds, the oldest of what it is judged by was looked
    at; empty until a heartbeat came since the aggregator's start.
    """

    clock_offset_s: float
    stages_s: dict[str, float]
    findings: tuple[dict[str, Any], ...]
    parts: tuple[Part, ...]
    versions: dict[str, str]
    events: tuple[Event, ...]


class Past(Document):
    """A stored report; `report` is its body."""

    boot_id: str
    sequence: int
    kind: str
    sent: AwareDatetime
    received: AwareDatetime
    verdict: str
    report: dict[str, Any]


class History(Document):
    """Reports of a node, newest first."""

    items: tuple[Past, ...]
    next: str | None


class NodesQuery(Asked):
    """A page of nodes."""

    cursor: str | None = Field(default=None, max_length=400)
    limit: int = Field(default=200, ge=1, le=1000)


class HistoryQuery(Asked):
    """A page of history."""

    cursor: str | None = Field(default=None, max_length=400)
    limit: int = Field(default=50, ge=1, le=200)


class EnrolRequest(Asked):
    """A node asks for a credential; `nonce` is random, made before the first try, kept for more."""

    node: NodeName
    machine: Word
    nonce: str = Field(min_length=16, max_length=128, pattern=r"^[!-~]+$")


class Credential(Document):
    """A credential, shown this once."""

    id: str
    role: str
    name: str
    node: str | None
    expires: AwareDatetime
    rotate_after: AwareDatetime
    credential: str


class Waiting(Document):
    """No credential yet: a person has to look."""

    state: Literal["pending"] = "pending"
    reason: str


class Enrollment(Document):
    """A node name and the machine that has it, or waits for it."""

    node: str
    state: Literal["enrolled", "pending", "approved", "revoked"]
    machine: str
    enrolled: AwareDatetime
    pending_machine: str | None
    pending_since: AwareDatetime | None


class Enrollments(Document):
    """All of them."""

    items: tuple[Enrollment, ...]


class TokenRequest(Asked):
    """A credential for a person, a program, or (join) for nodes to enrol with."""

    role: Literal["viewer", "operator", "admin", "join"]
    name: Word
    hours: float = Field(default=24 * 90, gt=0, le=24 * 3660)
    uses_per_node: int = Field(default=1, ge=1, le=10)


class Token(Document):
    """A credential without its secret."""

    id: str
    role: str
    name: str
    node: str | None
    created: AwareDatetime
    expires: AwareDatetime
    used: bool
    revoked: bool


class Tokens(Document):
    """All of them, newest first."""

    items: tuple[Token, ...]
