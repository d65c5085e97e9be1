"""What a finding is about."""

import msgspec


class Subject(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """One thing with its natural key; other keys stand only when they are known.

    `kind` is one of node, gpu, nvswitch, nic, port, disk, mount, process, job, rank, bmc, sensor,
    psu, fan, switch, rack, log. `name` is the natural key: PCI address for a GPU, `mlx5_0/1` for
    a port, mount point for a mount, pid for a process, job id for a job, file name for a log.
    """

    kind: str
    name: str
    node: str | None = None
    uuid: str | None = None
    serial: str | None = None
    index: int | None = None
    pid: int | None = None
    rank: int | None = None
    ranks: tuple[int, ...] | None = None
    job: str | None = None
    user: str | None = None
    peer: str | None = None
