"""Who held the memory of a GPU that had no more room, by what PyTorch's allocator says of it."""

import re
from collections.abc import Iterator, Sequence

from diagnostics.checks.training.given import named_ranks
from diagnostics.checks.training.judging import Said, finding, quotes, subject
from diagnostics.expression import Expression
from diagnostics.finding import Finding, Severity, found

AMOUNT = r"(\d{1,9}(?:\.\d{1,4})?) (bytes|[KMGT]i?B)"
UNITS = {"bytes": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
# ... total capacity of 79.11 GiB of which 742.06 MiB is free. Process 4127 has 41.20 GiB memory in
# use. Including non-PyTorch memory, this process has 37.17 GiB memory in use. Of the allocated
# memory 30.02 GiB is allocated by PyTorch, and 6.10 GiB is reserved by PyTorch but unallocated.
# Before 2.1: (GPU 2; 31.75 GiB total capacity; 29.10 GiB already allocated; 310.50 MiB free;
# 30.40 GiB reserved in total by PyTorch)
PARTS = {
    "total": Expression(rf"total capac(?:ity|ty) of {AMOUNT}|{AMOUNT} total capacity"),
    "free": Expression(rf"of which {AMOUNT} is free|; {AMOUNT} free;"),
    "own": Expression(rf"this process has {AMOUNT} memory in use|; {AMOUNT} reserved in total"),
    "idle": Expression(rf"and {AMOUNT} is reserved by PyTorch but unallocated"),
    "used": Expression(rf"{AMOUNT} (?:is allocated by PyTorch|already allocated)"),
    "wanted": Expression(rf"Tried to allocate {AMOUNT}"),
}
OTHERS = Expression(rf"Process (\d{{1,10}}) has {AMOUNT} memory in use")
# A context and its libraries take some hundred MiB that no allocator counts.
UNCOUNTED = 2 * UNITS["G"]
MUCH = 0.2
SHOWN = 3


def holders(told: Sequence[Said], severity: Severity) -> Iterator[Finding]:
    """Yield that there was no room, with the largest holders, and whether they are others."""
    parts = _parts(told[0])
    yield finding(told, severity, _told(parts))
    for said in told:
        others = _others(said.hit.text, _parts(said))
        held = sum(size for _, size in others) or _elsewhere(_parts(said))
        total = _parts(said)["total"]
        if total and held > max(MUCH * total, UNCOUNTED):
            yield _by_others(said, held, others)
            return


def _parts(said: Said) -> dict[str, float | None]:
    return {name: _amount(form.search(said.hit.text)) for name, form in PARTS.items()}


def _elsewhere(parts: dict[str, float | None]) -> float:
    """Return what is neither free nor the process's own."""
    total, free, own = parts["total"], parts["free"], parts["own"]
    return 0.0 if total is None or free is None or own is None else total - free - own


def _by_others(said: Said, held: float, others: Sequence[tuple[str, float]]) -> Finding:
    about = subject([said])
    names = ", ".join(f"pid {pid}: {_shown(size)}" for pid, size in others[:SHOWN])
    return found(
        "gpu_memory_held_by_other_process",
        "warning",
        about,
        "{who}: other processes hold {held} of the GPU's memory{names}",
        *quotes([said]),
        kind="event",
        variant="in_log",
        who=named_ranks(about),
        held=_shown(held),
        names=f" ({names})" if names else "",
    )


def _told(said: dict[str, float | None]) -> str:
    """Return what the process held itself, and whether it lay in pieces."""
    own, idle, wanted = said["own"], said["idle"], said["wanted"]
    if own is None:
        return ""
    told = f"; the process itself holds {_shown(own)}"
    if idle is None and said["used"] is not None:
        idle = own - said["used"]
    if idle and wanted and idle > wanted:
        told += f", of which {_shown(idle)} is reserved and lies in pieces (fragmentation)"
    return told


def _others(text: str, parts: dict[str, float | None]) -> list[tuple[str, float]]:
    """Return pid and bytes of the other processes, the largest first."""
    sizes = [(hit[1], _size(hit[2], hit[3])) for hit in OTHERS.finditer(text)]
    used = parts["used"]
    if parts["own"] is None and used is not None:
        # In a container PyTorch does not know its own pid on the host: one of them is itself.
        own = min((size for _, size in sizes if size >= used), default=None)
        sizes = [one for one in sizes if one[1] != own]
    return sorted(sizes, key=lambda one: -one[1])


def _amount(hit: re.Match[str] | None) -> float | None:
    if hit is None:
        return None
    number, unit = [part for part in hit.groups() if part is not None][:2]
    return _size(number, unit)


def _size(number: str, unit: str) -> float:
    return float(number) * UNITS["bytes" if unit == "bytes" else unit[0]]


def _shown(size: float) -> str:
    unit = next((u for u in "TGMK" if size >= UNITS[u]), None)
    return f"{size:.0f} bytes" if unit is None else f"{size / UNITS[unit]:.1f} {unit}iB"
