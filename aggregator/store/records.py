"""What a store takes and gives: plain frozen records, times in epoch seconds of the server."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from aggregator.wire import JobSettings, Way

Role = Literal["node", "viewer", "operator", "admin", "join"]


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """One report as it came; `body` is its JSON, zstd, None for a heartbeat.

    `stages_s`, `gauges`, `peers`, `silent`, `worked` and `jobs` are not stored: the next heartbeat,
    30 s later, or the next snapshot, five minutes later, has them anew.
    """

    node: str
    boot_id: str
    sequence: int
    kind: str
    sent: float
    verdict: str
    product: str
    machine: str | None = None
    simulated: bool = False
    dropped: int = 0
    body: bytes | None = None
    changed: tuple[dict[str, Any], ...] = ()
    cleared: tuple[str, ...] = ()
    whole: bool = False
    parts: tuple["PartSeen", ...] = ()
    versions: Mapping[str, str] = {}
    stages_s: Mapping[str, float] = {}
    gauges: Mapping[str, float] = {}
    peers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    worked: tuple[Way, ...] = ()
    jobs: tuple[JobSettings, ...] = ()


class PartSeen(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A part that sits in a node, named by its serial number."""

    kind: str
    serial: str
    slot: str
    model: str | None = None
    firmware: str | None = None
    rail: int | None = None
    switch: str | None = None
    switch_port: int | None = None


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a batch were new, how many had been there."""

    accepted: int
    duplicates: int


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The newest that is known of a node; `received` is when anything last came from it."""

    node: str
    boot_id: str
    sequence: int
    verdict: str
    product: str
    machine: str | None
    simulated: bool
    dropped: int
    first_seen: float
    received: float
    sent: float
    snapshot_received: float | None
    maintenance_until: float | None = None
    maintenance_reason: str | None = None


class NodeWhole(msgspec.Struct, frozen=True, kw_only=True):
    """A node with what its reports carried."""

    record: NodeRecord
    findings: tuple[dict[str, Any], ...]
    parts: tuple[PartSeen, ...]
    versions: Mapping[str, str]
    events: tuple["Event", ...]


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """One stored report; `body` is its JSON."""

    id: int
    boot_id: str
    sequence: int
    kind: str
    sent: float
    received: float
    verdict: str
    body: bytes


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A page of stored reports; `more` tells that older ones are there."""

    items: tuple[Past, ...]
    more: bool


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the aggregator noticed of a node by itself."""

    node: str
    kind: str
    time: float
    text: str


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A credential without its secret: `digest` is SHA-256 of 256 random bits.

    `supersedes` is the credential that ends when this one is first used. `uses_per_node` counts
    for join tokens: how often one node name may enrol with it.
    """

    id: str
    digest: bytes
    role: Role
    name: str
    node: str | None = None
    machine: str | None = None
    created: float
    expires: float
    used: bool = False
    revoked: bool = False
    supersedes: str | None = None
    uses_per_node: int = 1


class Maintenance(msgspec.Struct, frozen=True, kw_only=True):
    """A node that people work on: its silence is no news until `until`."""

    node: str
    until: float
    reason: str
    by: str
    created: float


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """One line of what was done to nodes, and of what was refused.

    `what` is granted or refused of a lease that was asked for; of what a node tells of its action
    it is begun, done, failed, rolled_back, handed_over, or untouched: it ended with no change.
    """

    id: int
    time: float
    node: str
    what: str
    remedy: str
    subject: str | None = None
    serial: str | None = None
    fault: str | None = None
    signature: str | None = None
    lease: str | None = None
    reason: str


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A switch that survives restarts: `pause`, `breaker`."""

    name: str
    on: bool
    since: float
    by: str
    reason: str


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What /metrics tells of the store; `states` counts nodes by state and verdict."""

    states: Mapping[tuple[str, str], int]
    leases: int
    breaker: bool
    bytes: int
