"""What the person or the settings ask a walk to look at, beyond the node itself."""

import msgspec


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Another host that this one should reach; `lid` for ibping, `address` for ping."""

    name: str
    lid: int | None = None
    port_guid: str | None = None
    address: str | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Peers to probe, logs to read, and how long rates are watched.

    `sample_s` is the distance of the two samples that a rate needs.
    """

    peers: tuple[Peer, ...] = ()
    logs: tuple[str, ...] = ()
    sample_s: float = 1.0
