"""What the person or the settings ask a walk to look at, beyond the node itself."""

import fnmatch
from typing import Literal

import msgspec

Role = Literal["compute", "storage", "management"]
ROLES: tuple[Role, ...] = ("compute", "storage", "management")


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Another host that this one should reach; `lid` for ibping, `address` for ping.

    `rail` is the RDMA device by which both ends take part in one rail, "" where nobody named one.
    `serves` is the word that the host runs `ibping -S`.
    """

    name: str
    lid: int | None = None
    port_guid: str | None = None
    address: str | None = None
    rail: str = ""
    serves: bool = False


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says that this node has; None where nothing is said.

    `product` is part of the driver's name of its GPUs, `ib_rate_gbps` the least of each port.
    """

    gpus: int | None = None
    product: str | None = None
    ib_ports: int | None = None
    ib_rate_gbps: float | None = None
    nvme: int | None = None


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """Which ports are for what, by names of RDMA devices or interfaces; `*` stands for any part."""

    compute: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    management: tuple[str, ...] = ()

    def of(self, *names: str) -> Role | None:
        """Return the role of what has these names, None where nobody gave it one."""
        for role in ROLES:
            patterns: tuple[str, ...] = getattr(self, role)
            if any(fnmatch.fnmatchcase(name, one) for name in names for one in patterns):
                return role
        return None


NO_ROLES = Roles()


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Peers to probe, what ports are for, logs to read, and what the node should have.

    `sample_s` is the distance of the two samples that a rate needs. `rules` are the site's own
    files of rules: name and text of each. `ask_driver` is a person's word that the driver is asked
    whatever the kernel log says of it. `patient` is that all peers are probed, however
    long it takes; `bandwidth` that the ways to them are measured, which fills them.
    """

    peers: tuple[Peer, ...] = ()
    roles: Roles = Roles()
    logs: tuple[str, ...] = ()
    sample_s: float = 1.0
    expect: Expect = Expect()
    rules: tuple[tuple[str, str], ...] = ()
    ask_driver: bool = False
    patient: bool = False
    bandwidth: bool = False
