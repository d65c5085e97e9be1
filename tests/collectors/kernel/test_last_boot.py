"""How the boot before ended, from what the reader found: panics, the journal's end, wtmp."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel.last_boot import (
    BootEnd,
    Crash,
    Entry,
    LastBoot,
    Left,
    Store,
    _shut_down,
    collect,
    crashes,
)
from collectors.node.live import Live
from tests.recording import recorded

# The recording's clock: 2026-11-30T02:11:09Z.
NOW = 1796004669.0
HARDWARE = """\
Panic#1 Part1
<0>[ 7201.120011] mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: f200000000070f0f
<0>[ 7201.120020] Kernel panic - not syncing: Fatal hardware error!
<4>[ 7201.120031] CPU: 3 PID: 0 Comm: swapper/3 Tainted: P   M       OE      6.8.0-48-generic
"""
OLDER = "Panic#1 Part2\n<6>[ 7100.000000] mlx5_core 0000:5d:00.0 ens5f0np0: Link up\n"
OOPS = "Oops#1 Part1\n<1>[  912.331000] BUG: kernel NULL pointer dereference, address: 0000000040\n"
DUMPED = "[ 8100.120000] sysrq: Trigger a crash\n[ 8100.130000] Call Trace:\n"


def left(path: str, mtime: float, text: str) -> Left:
    return Left(path=path, mtime=mtime, text=text)


def test_parts_of_one_panic_are_one() -> None:
    """The part with the kernel's sentence stands for all; an oops was survived and is none."""
    store = Store(
        files=(
            left("/sys/fs/pstore/dmesg-erst-3", NOW - 90, OOPS),
            left("/sys/fs/pstore/dmesg-erst-2", NOW - 61, OLDER),
            left("/sys/fs/pstore/dmesg-erst-1", NOW - 61, HARDWARE),
            left("/var/crash/202611290211/vmcore-dmesg.txt", NOW - 90_000, DUMPED),
        )
    )
    expected = [
        ("/sys/fs/pstore/dmesg-erst-1", 61.0, "Fatal hardware error!"),
        ("/var/crash/202611290211/vmcore-dmesg.txt", 90_000.0, "sysrq: Trigger a crash"),
    ]

    assert expected == [(c.path, c.age_s, c.why) for c in crashes(store, NOW)]


def test_a_panic_whose_reason_was_not_kept_is_one() -> None:
    """The header of a part says what was written; its reason can lie in a part that is lost."""
    store = Store(files=(left("/sys/fs/pstore/dmesg-efi-2", NOW - 5, OLDER),))

    expected = [Crash(path="/sys/fs/pstore/dmesg-efi-2", time=NOW - 5, age_s=5.0)]
    assert expected == list(crashes(store, NOW))


@given(st.lists(st.tuples(st.text(), st.floats(0, 1e10), st.text()), max_size=5))
def test_no_text_breaks_the_search(files: list[tuple[str, float, str]]) -> None:
    """What firmware kept can be garbage; nothing is raised, and no panic is made of it."""
    store = Store(files=tuple(left(*file) for file in files))
    marked = [f for f in files if f[2].startswith("Panic#") or "Kernel panic" in f[2]]

    assert marked or [] == list(crashes(store, NOW))


@pytest.mark.parametrize(
    ("wtmp", "expected"),
    [
        (["boot", "shutdown", "boot"], True),
        (["boot", "shutdown", "boot", "boot"], False),
        (["shutdown", "boot"], None),
        ([], None),
    ],
)
def test_what_wtmp_says_of_the_last_boot(wtmp: list[str], *, expected: bool | None) -> None:
    """Only a shutdown between the last two boots counts, and two boots are needed to say so."""
    entries = tuple(Entry(what=what, time=float(n)) for n, what in enumerate(wtmp))

    assert expected is _shut_down(entries)


def test_one_witness_is_enough(tmp_path: Path) -> None:
    """What the other could not say is told beside it."""
    denied = {"cause": "denied", "detail": "only root sees this"}
    end = {"boot_id": "1c9e", "ended": NOW - 100, "kernel": ["nvme nvme0: timeout"]}
    answers = [
        {"kind": "pstore", "missing": denied},
        {"kind": "boot_before", "answer": {"journal": end, "wtmp": None}},
    ]
    expected = LastBoot(
        boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11",
        end=BootEnd(boot_id="1c9e", time=NOW - 100, age_s=100.0, kernel=("nvme nvme0: timeout",)),
        unseen=(Missing(what="pstore", cause=Cause.DENIED, detail="only root sees this"),),
    )

    assert expected == asyncio.run(collect(recorded(tmp_path, answers=answers), Wanted()))


def test_without_witness_it_is_missing(tmp_path: Path) -> None:
    """An older recording was asked neither."""
    got = asyncio.run(collect(recorded(tmp_path), Wanted()))

    assert isinstance(got, Missing)
    assert ("LastBoot", Cause.NOT_RECORDED) == (got.what, got.cause)


def test_an_answer_of_another_shape_is_garbled(tmp_path: Path) -> None:
    """A reader of another version does not crash the walk."""
    answers = [{"kind": "pstore", "answer": []}, {"kind": "boot_before", "answer": {"wtmp": 3}}]
    got = asyncio.run(collect(recorded(tmp_path, answers=answers), Wanted()))

    assert isinstance(got, Missing)
    assert got.cause is Cause.GARBLED


@pytest.mark.root
async def test_this_machine_answers() -> None:
    """The real verbs as root: an observation, whatever this machine keeps."""
    node = Live()
    got = await collect(node, Wanted())
    await node.close()

    assert isinstance(got, LastBoot)
    assert () == got.unseen
