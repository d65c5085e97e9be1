"""How the boot before this one ended: what a panic left, and the last words of its journal."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.at_once import at_once
from collectors.node.protocol import Node

WHAT = "LastBoot"
BOOT_ID = "/proc/sys/kernel/random/boot_id"

# <0>[  201.812663] Kernel panic - not syncing: Fatal exception            (pstore)
# [  201.812663] Kernel panic - not syncing: Fatal hardware error!         (vmcore-dmesg)
PANIC = re.compile(r"Kernel panic - not syncing: (?P<why>[^\n]{1,300})")
# Panic#1 Part1       the first line of each part that pstore keeps; Oops#1 is survived
PART = re.compile(r"(?P<what>Panic|Oops|Emergency|Shutdown)#(?P<number>\d{1,9}) Part\d{1,9}\b")
# <1>[  201.654822] BUG: unable to handle page fault for address: 0000000000000040
# <1>[  201.654822] BUG: kernel NULL pointer dereference, address: 0000000000000040
BUG = re.compile(r"\] (?P<why>BUG: [^\n]{1,300}|sysrq: [^\n]{0,60}[Cc]rash[^\n]{0,60})")
KDUMP = "/var/crash/"


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """A panic's text in `path`, written at `time` (epoch seconds), `age_s` before it was read.

    `why` is the kernel's own sentence; None where the part with that line was not kept.
    """

    path: str
    time: float
    age_s: float
    why: str | None = None


class BootEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the boot before, by its journal; `shutdown` is the line that announces it."""

    boot_id: str
    time: float
    age_s: float
    shutdown: str | None = None
    kernel: tuple[str, ...] = ()


class LastBoot(Observation, frozen=True, kw_only=True):
    """What is kept of the boot before.

    `end` is None where the journal keeps none, `shut_down` is what wtmp says of the last boot:
    None where it does not say. `unseen` are the parts that could not be asked for.
    """

    boot_id: str | None = None
    crashes: tuple[Crash, ...] = ()
    end: BootEnd | None = None
    shut_down: bool | None = None
    unseen: tuple[Missing, ...] = ()


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the reader's answer to `pstore`; `text` is its end."""

    path: str
    mtime: float
    text: str


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer to `pstore`."""

    files: tuple[Left, ...]


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """How the journal of the boot before ends; `ended` is its last entry, epoch seconds."""

    boot_id: str
    ended: float
    shutdown: str | None = None
    kernel: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A boot or a shutdown in wtmp."""

    what: str
    time: float


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer to `boot_before`; None for what this node does not keep."""

    journal: Journal | None = None
    wtmp: tuple[Entry, ...] | None = None


async def collect(node: Node, wanted: Wanted) -> LastBoot | Missing:
    """Ask for both kinds of witness; one that cannot be asked leaves the other."""
    del wanted
    kinds: dict[str, type[Store | Before]] = {"pstore": Store, "boot_before": Before}
    store, before = await at_once(node, [partial(_ask, *item) for item in kinds.items()])
    unseen = tuple(part for part in (store, before) if isinstance(part, Missing))
    if len(unseen) == len(kinds):
        return msgspec.structs.replace(unseen[0], what=WHAT)
    now = node.now()
    journal = before.journal if isinstance(before, Before) else None
    wtmp = before.wtmp if isinstance(before, Before) else None
    return LastBoot(
        boot_id=(await node.identity()).boot_id,
        crashes=tuple(crashes(store, now)) if isinstance(store, Store) else (),
        end=_end(journal, now) if journal else None,
        shut_down=None if wtmp is None else _shut_down(wtmp),
        unseen=unseen,
    )


async def _ask(kind: str, form: type[Store | Before], node: Node) -> Store | Before | Missing:
    got: Any = await node.ask(kind, deadline_s=5.0)
    if isinstance(got, Missing):
        return got
    try:
        return msgspec.convert(got, form)
    except msgspec.ValidationError as problem:
        return Missing(what=kind, cause=Cause.GARBLED, detail=str(problem))


def crashes(store: Store, now: float) -> Iterator[Crash]:
    """Yield the panics among the files, newest first; parts of one panic are one."""
    told: dict[tuple[str, int], Crash] = {}
    for left in store.files:
        part = PART.match(left.text)
        panic = PANIC.search(left.text)
        dumped = left.path.startswith(KDUMP)
        # pstore keeps an oops too, which the kernel survived, and with some settings each shutdown.
        if not panic and not dumped and not (part and part["what"] == "Panic"):
            continue
        hit = panic or BUG.search(left.text)
        crash = Crash(
            path=left.path,
            time=left.mtime,
            age_s=max(now - left.mtime, 0.0),
            why=hit["why"].strip() if hit else None,
        )
        # Parts are written within a second of each other, and moved to one folder later on.
        key = (left.path.rpartition("/")[0], round(left.mtime / 60))
        if key not in told or (told[key].why is None and crash.why is not None) or panic:
            told[key] = crash
    yield from sorted(told.values(), key=lambda crash: (crash.age_s, crash.path))


def _end(journal: Journal, now: float) -> BootEnd:
    return BootEnd(
        boot_id=journal.boot_id,
        time=journal.ended,
        age_s=max(now - journal.ended, 0.0),
        shutdown=journal.shutdown,
        kernel=journal.kernel,
    )


def _shut_down(wtmp: tuple[Entry, ...]) -> bool | None:
    """Return whether a shutdown stands between the last two boots; None with fewer than two."""
    boots = [number for number, entry in enumerate(wtmp) if entry.what == "boot"]
    if len(boots) <= 1:
        return None
    return any(entry.what == "shutdown" for entry in wtmp[boots[-2] : boots[-1]])
