"""Whether the driver answers, and each GPU through it."""

from collections.abc import Collection, Iterator, Sequence

from collectors.facts.observation import Cause, Missing
from collectors.facts.processes import ProcessTable
from collectors.facts.subject import Subject
from collectors.gpu.asking import WHAT
from collectors.gpu.bus import PciGpus
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# Numbers of the C header; texts of the library change between releases.
NO_PERMISSION, NOT_LOADED, LIBRARY_NOT_FOUND, LOST, MISMATCH = 4, 9, 12, 15, 18
# A GPU that we may not open, that this driver's library cannot do, or that is still starting.
NO_WORD = frozenset({3, NO_PERMISSION, 13, 27})

HUNG = "the driver did not answer NVML ({why}){place}"
NOT_STARTED = {
    NOT_LOADED: "NVML reaches no driver (code 9) though its module is loaded",
    MISMATCH: "NVML is of another version than the loaded module (code 18): new CUDA programs fail",
}
OTHER = "NVML did not start (code {code}){hint}"
# 999 at the start: most often /dev/nvidiactl is refused by the device cgroup, which a
# `systemctl daemon-reload` can do to running services and containers.
HINTS = {999: ": unknown error; often /dev/nvidiactl could not be opened"}

STUCK = "GPU {gpu} did not answer: {call} did not return; {others}"

HANDLE = {
    "gpu_lost": "NVML reports GPU {gpu} as lost (code 15){users}",
    "gpu_handle_undetermined": "NVML gives no handle of GPU {gpu} (code {code}){users}",
}
NONE = "the driver is loaded and lists no GPU, and {number} are bound to it"

PERSISTENCED = "nvidia-persiste"


@check(
    "driver.answers",
    stage="driver",
    faults=(
        "driver_hung",
        "driver_library_mismatch",
        "gpu_init_failed",
        "nvml_no_devices",
        "gpu_lost",
        "gpu_handle_undetermined",
    ),
    proved="documented",
)
def answers(
    gpus: GpuSnapshot | Missing,
    health: GpuHealth | Missing,
    pci: PciGpus | Missing,
    holders: GpuHolders | Missing,
    table: ProcessTable | Missing,
) -> Iterator[Statement]:
    """Each GPU of the driver gives a handle, and the driver answers in time.

    A job that starts on a node whose driver hangs can never be ended. One GPU that is lost ends
    the job on it, and most programs fail to start although the other GPUs still answer.
    """
    if isinstance(gpus, Missing):
        yield _unanswered(gpus, holders, table)
        return
    if isinstance(health, Missing) and health.cause is Cause.TIMEOUT:
        yield _unanswered(health, holders, table)
    if not gpus.loaded:
        yield NotApplicable(why="no NVIDIA driver is loaded")
    elif gpus.init_error in (NO_PERMISSION, LIBRARY_NOT_FOUND):
        yield Unseen(missing=_not_here(gpus.init_error))
    elif gpus.init_error is not None:
        yield _not_started(gpus)
    elif gpus.count is None:
        code = gpus.failed.get("count")
        detail = f"NVML does not count the GPUs (code {code})"
        yield Unseen(missing=Missing(what=WHAT, cause=Cause.CRASHED, detail=detail))
    else:
        stuck = {**gpus.stuck, **({} if isinstance(health, Missing) else health.stuck)}
        yield from (_stuck(gpu, call, gpus, len(stuck)) for gpu, call in stuck.items())
        yield from _each(gpus, pci, holders, stuck)


def _unanswered(
    gpus: Missing, holders: GpuHolders | Missing, table: ProcessTable | Missing
) -> Statement:
    """Return that the driver hangs; unknown where it may only be slow.

    With nothing that keeps a GPU initialised, the first contact takes seconds for each.
    """
    if gpus.what != WHAT or gpus.cause is not Cause.TIMEOUT:
        return Unseen(missing=gpus)
    if not _kept(holders, table):
        detail = f"{gpus.detail}; nothing keeps the GPUs initialised, first contact may be slow"
        return Unseen(missing=Missing(what=WHAT, cause=gpus.cause, detail=detail))
    return found(
        "driver_hung",
        "critical",
        NODE,
        HUNG,
        Evidence(source=WHAT, text=gpus.stuck, values={"detail": gpus.detail}),
        why=gpus.detail,
        place=f": {gpus.stuck}" if gpus.stuck else "",
        confidence=0.95,
    )


def _kept(holders: GpuHolders | Missing, table: ProcessTable | Missing) -> bool:
    """Return whether a process keeps a GPU initialised, our own helper apart."""
    if not isinstance(holders, Missing):
        return any(h.minors and h.comm != "gpudiag-nvml" for h in holders.holders)
    return not isinstance(table, Missing) and any(
        process.comm == PERSISTENCED for process in table.processes
    )


def _not_here(code: int) -> Missing:
    if code == NO_PERMISSION:
        return Missing(what=WHAT, cause=Cause.DENIED, detail="NVML may not be used (code 4)")
    # With the GPU Operator the library lies in the driver's container alone.
    detail = "libnvidia-ml.so.1 is not among this node's libraries, or cannot be read (code 12)"
    return Missing(what=WHAT, cause=Cause.NO_TOOL, detail=detail)


def _not_started(gpus: GpuSnapshot) -> Finding:
    code = gpus.init_error or 0
    return found(
        "driver_library_mismatch" if code == MISMATCH else "gpu_init_failed",
        "critical",
        NODE,
        NOT_STARTED.get(code, OTHER),
        Evidence(source="nvmlInitWithFlags", values={"code": code, "library": gpus.nvml}),
        variant=f"nvml_{code}",
        confidence=0.95,
        code=code,
        hint=HINTS.get(code, ""),
    )


def _stuck(address: str, call: str, gpus: GpuSnapshot, number: int) -> Finding:
    known = next((gpu for gpu in gpus.gpus if gpu.pci == address), Gpu(index=-1))
    left = (gpus.count or 0) - number
    return found(
        "driver_hung",
        "critical",
        Subject(
            kind="gpu",
            name=address,
            index=known.index if known.index >= 0 else None,
            uuid=known.uuid,
            serial=known.serial,
        ),
        STUCK,
        Evidence(source=call, values={"gpu": address, "count": gpus.count}),
        variant="gpu",
        confidence=0.95,
        gpu=f"{known.index} ({address})" if known.index >= 0 else address,
        call=call,
        others=f"the other {left} were asked without it" if left > 1 else "no other was asked",
    )


def _each(
    gpus: GpuSnapshot, pci: PciGpus | Missing, holders: GpuHolders | Missing, stuck: Collection[str]
) -> Iterator[Statement]:
    bound = (
        [] if isinstance(pci, Missing) else [g.address for g in pci.gpus if g.driver == "nvidia"]
    )
    if not gpus.gpus:
        yield _none(bound) if bound else NotApplicable(why="NVML lists no GPU")
        return
    away = [gpu for gpu in gpus.gpus if _code(gpu) is not None]
    seen = {gpu.pci for gpu in gpus.gpus} | set(stuck)
    unseen = [address for address in bound if address not in seen]
    users = _users(gpus, pci, holders) if len(away) == 1 else []
    yield from (_away(gpu, _named(gpu, away, unseen), users) for gpu in away)
    yield from (_held_back(address) for address in gpus.held_back)
    if not away:
        number = len(gpus.gpus)
        what = "1 GPU answers" if number == 1 else f"all {number} GPUs answer"
        yield Well(message=f"{what}, driver {gpus.driver}")


def _named(gpu: Gpu, away: Sequence[Gpu], unseen: Sequence[str]) -> str | None:
    """Return the address of a GPU without handle: the one on the bus that no other GPU has."""
    if gpu.pci is None and len(away) == len(unseen) == 1:
        return unseen[0]
    return gpu.pci


def _code(gpu: Gpu) -> int | None:
    """Return why a GPU cannot be asked: it gave no handle, or was lost after it gave one."""
    return LOST if LOST in gpu.failed.values() else gpu.error


def _users(
    gpus: GpuSnapshot, pci: PciGpus | Missing, holders: GpuHolders | Missing
) -> list[Holder]:
    """Return who has the one lost GPU open: the device node that no answering GPU has."""
    if isinstance(pci, Missing) or isinstance(holders, Missing):
        return []
    left = set(pci.minors) - {gpu.minor for gpu in gpus.gpus if _code(gpu) is None}
    if len(left) != 1:
        return []
    # One with all devices open (persistence, a monitor) says nothing about this one.
    return [h for h in holders.holders if set(h.minors) & left and len(h.minors) < len(pci.minors)]


def _away(gpu: Gpu, address: str | None, users: Sequence[Holder]) -> Statement:
    code = _code(gpu)
    name = address or f"index {gpu.index}"
    known = f"{gpu.index} ({address})" if address else str(gpu.index)
    if code in NO_WORD:
        detail = f"NVML gives no handle of GPU {known} (code {code})"
        return Unseen(missing=Missing(what=f"GPU {name}", cause=Cause.CRASHED, detail=detail))
    fault = "gpu_lost" if code == LOST else "gpu_handle_undetermined"
    return found(
        fault,
        "critical",
        Subject(
            kind="gpu",
            name=name,
            index=gpu.index,
            uuid=gpu.uuid,
            serial=gpu.serial,
            job=users[0].job if users else None,
        ),
        HANDLE[fault],
        Evidence(
            source="nvmlDeviceGetHandleByIndex_v2",
            values={"index": gpu.index, "code": code, "failed": gpu.failed},
        ),
        confidence=0.95,
        gpu=known,
        code=code,
        users=_open(users),
    )


def _held_back(address: str) -> Unseen:
    detail = (
        "the kernel log says that it fell off the bus; no call is made to it until reboot, "
        "or by a person with --ask-driver"
    )
    missing = Missing(what=f"GPU {address}", cause=Cause.HELD_BACK, detail=detail)
    return Unseen(missing=missing, subject=Subject(kind="gpu", name=address))


def _open(users: Sequence[Holder]) -> str:
    if not users:
        return ""
    first, more = users[0], len(users) - 1
    job = f", job {first.job}" if first.job else ""
    rest = f" and {more} more have" if more else " has"
    return f"; {first.comm} (pid {first.pid}{job}){rest} it open"


def _none(bound: Sequence[str]) -> Finding:
    return found(
        "nvml_no_devices",
        "critical",
        NODE,
        NONE,
        Evidence(source="nvmlDeviceGetCount_v2", values={"count": 0}),
        Evidence(source="/sys/bus/pci/devices", values={"bound": list(bound)}),
        number=len(bound),
    )
