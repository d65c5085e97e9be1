"""What the person or the settings ask a walk to look at, beyond the node itself."""

import msgspec


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Another host that this one should reach; `lid` for ibping, `address` for ping."""

    name: str
    lid: int | None = None
    port_guid: str | None = None
    address: str | None = None


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says that this node has; None where nothing is said.

    `product` is part of the driver's name of its GPUs, `ib_rate_gbps` the least of each port.
    """

    gpus: int | None = None
    product: str | None = None
    ib_ports: int | None = None
    ib_rate_gbps: float | None = None
    nvme: int | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Peers to probe, logs to read, how long rates are watched, and what the node should have.

    `sample_s` is the distance of the two samples that a rate needs. `rules` are the site's own
    files of rules: name and text of each. `ask_driver` is a person's word that the driver is asked
    whatever the kernel log says of it.
    """

    peers: tuple[Peer, ...] = ()
    logs: tuple[str, ...] = ()
    sample_s: float = 1.0
    expect: Expect = Expect()
    rules: tuple[tuple[str, str], ...] = ()
    ask_driver: bool = False
