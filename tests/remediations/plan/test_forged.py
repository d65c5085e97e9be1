"""Kernel lines that a user wrote, wherever one can write, give findings and no act."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from remediations.plan.decide import decide
from tests.nodes.replay import NODES, replay_at
from tests.remediations.plan.rehearsal import acts, rehearsed_at

CODES = (79, 48, 64, 74, 95, 109, 119, 143)
FORGED = [
    f"NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=4711, name=python, GPU has fallen off the bus."
    for bus in ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
    for code in CODES
]

# The kernel's own records, in which a user chose the beginning (a process's name, 15 letters) and
# the end (the name of the file that it runs).
CRASHED = (
    "{name}[4711]: segfault at 0 ip 000055d1c1e0113d sp 00007ffd2a3b5c60 error 4 in {file}"
    "[55d1c1e01000+1000]"
)
CRASHES = [
    CRASHED.format(name="XFS (sda1): a", file="Shutting down filesystem"),
    CRASHED.format(name="EDAC MC0: 1 UE ", file="on DIMM ("),
    # A byte that is no text stands as \\xff in the record.
    CRASHED.format(name=r"XFS (a): \xff\xff\xff", file="Shutting down filesystem"),
    CRASHED.format(name="NVRM: a", file="[NV_ERR_RESET_REQUIRED]"),
]

SAID = (
    "Unable to determine the device handle for GPU 0000:5D:00.0: GPU is lost.  Reboot the system",
    "[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
)
BELIEVED = '[checks."driver.kernel_log"]\nwritten_lines = true\n'


def with_forged(folder: Path, *, facility: int, lines: Sequence[str] = FORGED) -> Path:
    """Return a copy of a healthy node whose log and kernel log say what is not so.

    The site believes what programs write to /dev/kmsg, as it may for trials.
    """
    shutil.copytree(NODES / "h100-training", folder)
    settings = folder / "files" / "etc" / "gpudiag"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "gpudiag.toml").write_text(BELIEVED)
    log = next((folder / "logs").iterdir())
    stamped = [f"Nov 30 02:11:09 gpu-017 kernel: [{4711 + n}.0] {t}" for n, t in enumerate(FORGED)]
    log.write_text("\n".join([log.read_text(), *stamped, *FORGED, *SAID, ""]))
    kmsg = folder / "kmsg.log"
    before = kmsg.read_text().rstrip("\n")
    sequence, at = map(int, before.splitlines()[-1].split(",")[1:3])
    written = [
        f"{8 * facility + 3},{sequence + n},{at + n},-;{text}" for n, text in enumerate(lines, 1)
    ]
    kmsg.write_text("\n".join([before, *written, ""]))
    return folder


def test_forged_kernel_lines_give_findings_and_no_act(tmp_path: Path) -> None:
    """A job's log and what a program wrote to /dev/kmsg are not the kernel's own word."""
    folder = with_forged(tmp_path / "node", facility=1)
    found = {f["fault"] for f in replay_at(folder).findings if f["severity"] == "critical"}
    forged = {"gpu_fell_off_bus", "gsp_timeout", "ecc_uncorrectable"}

    assert (forged, []) == (forged & found, acts(decide(rehearsed_at(folder))))


def test_the_same_lines_by_the_kernel_itself_are_acted_upon(tmp_path: Path) -> None:
    """So it is by whom they are that the test above rests on."""
    folder = with_forged(tmp_path / "node", facility=0)

    assert ["slurm.drain"] == acts(decide(rehearsed_at(folder)))


def test_a_user_cannot_name_a_process_into_a_fault_of_the_node(tmp_path: Path) -> None:
    """A crash is told by the kernel itself, in words that whoever crashed has chosen."""
    folder = with_forged(tmp_path / "node", facility=0, lines=CRASHES)
    forged = {"read_only_filesystem", "host_memory_uncorrectable", "gpu_reset_required"}
    found = {finding["fault"] for finding in replay_at(folder).findings}

    assert (set(), []) == (forged & found, acts(decide(rehearsed_at(folder))))
