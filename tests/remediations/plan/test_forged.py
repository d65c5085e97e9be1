"""Kernel lines that a user wrote, wherever one can write, give findings and no act."""

import shutil
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


SAID = (
    "Unable to determine the device handle for GPU 0000:5D:00.0: GPU is lost.  Reboot the system",
    "[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
)
BELIEVED = '[checks."driver.kernel_log"]\nwritten_lines = true\n'


def with_forged(folder: Path, *, facility: int) -> Path:
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
        f"{8 * facility + 3},{sequence + n},{at + n},-;{text}" for n, text in enumerate(FORGED, 1)
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
