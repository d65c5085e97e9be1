"""What a rank does while others wait for it, by its state and its place in the kernel."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from collectors.gpu.health import GpuReading
from collectors.jobs.places import Place, RankPlaces
from collectors.jobs.ranks import Rank

Class = Literal[
    "driver", "storage", "stopped", "dead", "data", "child", "sleep", "gpu idle", "waits"
]

# Functions of the kernel, as wchan and stack name them (fs/nfs, net/sunrpc, fs/fuse, block ...).
DRIVER = re.compile(r"nv_|nvidia|_nv\d|os_acquire|uvm_|rm_ioctl")
STORAGE = re.compile(
    r"nfs|rpc_|cl_io|ll_|ptlrpc|ceph|fuse_|gpfs|cxi|beegfs|weka|io_schedule|folio_wait"
    r"|wait_on_page|blk_|bio_|xfs_|ext4_|jbd2|btrfs|dm_|balance_dirty"
)
DATA = re.compile(r"pipe_read|pipe_wait_readable|anon_pipe_read|unix_stream_")
CHILD = re.compile(r"do_wait|kernel_wait4|wait_consider_task")
SLEEP = re.compile(r"hrtimer_nanosleep|nanosleep|common_nsleep")

OF_ITS_OWN: tuple[tuple[Class, re.Pattern[str], str], ...] = (
    ("data", DATA, "it waits for what another process should send, as a data loader does"),
    ("child", CHILD, "it waits for the end of a process that it started"),
    ("sleep", SLEEP, "it sleeps in code of its own"),
)

IDLE, SPINNING = 5, 95


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """The class of what a rank does, and that in words with what it was read from."""

    kind: Class
    words: str


def why(rank: Rank, place: Place | None) -> Why:
    """Return what one rank does; `waits` is what a rank does that is in a collective."""
    where = place.wchan if place and place.wchan else ""
    functions = (where, *(place.stack if place else ()))
    if rank.state in "ZX":
        return Why(kind="dead", words="its process has ended and was not reaped")
    if rank.state in "Tt":
        return Why(kind="stopped", words=f"its process is stopped (state {rank.state})")
    if rank.state == "D" and any(DRIVER.search(function) for function in functions):
        return Why(kind="driver", words=f"it hangs in the NVIDIA driver ({where}, state D)")
    if rank.state == "D" or STORAGE.match(where):
        return Why(kind="storage", words=f"it waits in the kernel ({where or '?'}, {rank.state})")
    for kind, form, words in OF_ITS_OWN:
        if form.match(where):
            return Why(kind=kind, words=f"{words} ({where})")
    return Why(kind="waits", words=f"it waits as the others do ({where})" if where else "")


def odd(
    ranks: Mapping[int, Rank], places: RankPlaces, gpus: Mapping[int, GpuReading]
) -> dict[int, Why]:
    """Return the few ranks that do not what the others do, by rank.

    Of ranks with a GPU, one whose GPU idles while the others' spin in NCCL is the one.
    """
    found = {number: why(rank, places.of(rank.pid)) for number, rank in ranks.items()}
    others = {number: one for number, one in found.items() if one.kind != "waits"}
    if others and len(others) * 2 <= len(found):
        return others
    used = {number: use for number, rank in ranks.items() if (use := _use(rank, gpus)) is not None}
    idle = [number for number, use in used.items() if use <= IDLE]
    spin = [number for number, use in used.items() if use >= SPINNING]
    if idle and len(idle) < len(spin) and len(idle) + len(spin) == len(found):
        words = "its GPU idles while those of the others spin at 100 %"
        return {number: Why(kind="gpu idle", words=words) for number in idle}
    return {}


def _use(rank: Rank, gpus: Mapping[int, GpuReading]) -> int | None:
    used = [gpus[minor].utilisation_percent for minor in rank.gpus if minor in gpus]
    known = [use for use in used if use is not None]
    return max(known) if known else None
