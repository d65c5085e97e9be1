"""Whether people work on the node, by Slurm's state of it and by what the aggregator told."""

import asyncio
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.maintenance import TOLD, Maintenance, collect, told
from collectors.jobs.node_reason import NodeReason, parse
from tests.recording import recorded

#    the lines of scontrol show node that count, of a node in a reservation with the flag MAINT
SHOWN = """\
NodeName=gpu-017 Arch=x86_64 CoresPerSocket=56
   State=IDLE+MAINTENANCE+RESERVED ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   ReservationName=fans
"""
SILENT = Missing(what="scontrol", cause=Cause.TIMEOUT, detail="scontrol did not end in 4 s")
NOW = 1_796_000_000.0


def seen(folder: Path, slurm: NodeReason | Missing, file: str | None = None) -> object:
    """Return what is collected of a node with this file, under Slurm's word."""
    node = recorded(folder, files={TOLD: file} if file is not None else {}, paths=(TOLD,))
    return asyncio.run(collect(node, Wanted(), slurm))


def test_a_reservation_for_maintenance_is_one(tmp_path: Path) -> None:
    """Slurm's own word is quoted."""
    got = seen(tmp_path, parse("gpu-017", SHOWN))

    assert (
        Maintenance(
            by="slurm",
            source="scontrol show node",
            text="State=IDLE+MAINTENANCE+RESERVED",
        )
        == got
    )


def test_an_operators_word_holds_until_its_end_and_for_this_node_alone() -> None:
    """What is over, or of another node, is none."""
    kept = {"node": "gpu-017", "until": NOW + 60.0, "reason": "new fans", "by": "night-shift"}
    text = json.dumps(kept)

    assert ("night-shift", None, None) == (
        told(text, "gpu-017", NOW).by,
        told(text, "gpu-017", NOW + 61.0).by,
        told(text, "gpu-018", NOW).by,
    )


def test_without_slurm_the_file_alone_speaks(tmp_path: Path) -> None:
    """A silent Slurm makes nothing unknown where the agent's file can be read."""
    assert Maintenance() == seen(tmp_path, SILENT)


@given(st.text())
def test_arbitrary_text_is_no_maintenance(text: str) -> None:
    """Whatever stands there, it makes no node worked on."""
    assert Maintenance() == told(text, "gpu-017", NOW)
