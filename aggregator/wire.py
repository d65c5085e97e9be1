"""What travels between a node and the aggregator: the one module that the agent imports from here.

Many reports travel as NDJSON, one a line, the whole body zstd or gzip. Both sides ignore keys that
they do not know and bear keys that are absent, so that two successive minor versions understand
each other; a change of meaning is a new schema.
"""

from typing import Any, Literal

import msgspec

SCHEMA = "gpudiag.report/1"
MEDIA_TYPE = "application/x-ndjson"

Kind = Literal["heartbeat", "change", "snapshot"]


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part that can be exchanged: its serial number names it, wherever it sits.

    A port is named by its GUID. `rail` is its place among the ports of its node that carry a job's
    traffic, from 0; `switch` and `switch_port` are the other end of its cable.
    """

    kind: str
    serial: str
    slot: str
    model: str | None = None
    firmware: str | None = None
    rail: int | None = None
    switch: str | None = None
    switch_port: int | None = None


class Way(msgspec.Struct, frozen=True, array_like=True):
    """That peers answered over InfiniBand since boot: on which device, and how long ago the last.

    `pkey` and `lid` are the port's own at that time, None where they were not seen.
    """

    device: str
    ago_s: float
    pkey: int | None = None
    lid: int | None = None


class JobSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A job with other nodes, and NCCL's settings that its ranks share here, name to value.

    `job` is alike on all its nodes and tells nothing of it; only names that are allowed stand here,
    values are one word, or `#` and the start of a digest.
    """

    job: str
    settings: dict[str, str]


class Alike(msgspec.Struct, frozen=True, array_like=True):
    """A value of a setting, None where it is not set, how many nodes have it, and some of them."""

    value: str | None
    nodes: int
    some: tuple[str, ...] = ()


class Compared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of how many nodes of a job is known how it is set up, and in which settings they differ."""

    nodes: int
    differing: dict[str, tuple[Alike, ...]] = {}


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a node says at one time.

    (node, boot_id, sequence) is its identity: the same one twice counts once. `sent` is the node's
    wall clock, epoch seconds; the receiver keeps its own time of receipt. A heartbeat carries
    nothing more than `verdict`, `stages_s`, by stage the seconds since its oldest source was
    looked at, `worked`, the devices on which peers answered its pings, `jobs`, how its jobs are set
    up, `peers`, the nodes of whose ping servers it asks, and `silent`, those of them of whose own
    ways it asks, too; a change the findings that appeared or changed, and what cleared; a snapshot
    the whole diagnosis, the parts, versions and gauges.
    """

    schema: str = SCHEMA
    node: str
    boot_id: str
    sequence: int
    sent: float
    kind: Kind
    product: str
    verdict: str = "unknown"
    simulated: bool = False
    machine: str | None = None
    dropped: int = 0
    findings: tuple[dict[str, Any], ...] = ()
    cleared: tuple[str, ...] = ()
    diagnosis: dict[str, Any] | None = None
    parts: tuple[Part, ...] = ()
    versions: dict[str, str] = {}
    gauges: dict[str, float] = {}
    stages_s: dict[str, float] = {}
    peers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    worked: tuple[Way, ...] = ()
    jobs: tuple[JobSettings, ...] = ()


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """What a heartbeat asks of other nodes and tells them, in the report's own fields."""

    peers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    worked: tuple[Way, ...] = ()
    jobs: tuple[JobSettings, ...] = ()


class Maintained(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That people work on a node until then (epoch seconds by the aggregator's clock)."""

    until: float
    reason: str = ""
    by: str = ""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a batch, sent after it is on disk.

    `rejected` names lines (from 0) that will never be accepted, each with its reason: the node
    drops and counts them. `paused` tells that all acting is to stop. `serving` are by node the RDMA
    devices on which its server for pings runs, of the `peers` asked for whose own agent said so;
    `worked` of the `silent` the devices on which others answered them since boot. `jobs` are those
    that its newest heartbeat named and other nodes have, too. `maintenance` is that of the node
    itself.
    """

    accepted: int = 0
    duplicates: int = 0
    rejected: dict[int, str] = {}
    paused: bool = False
    serving: dict[str, tuple[str, ...]] = {}
    worked: dict[str, tuple[Way, ...]] = {}
    jobs: dict[str, Compared] = {}
    maintenance: Maintained | None = None
