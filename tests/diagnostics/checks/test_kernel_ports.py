"""A line about a PCIe port names what hangs below it."""

import msgspec
import pytest

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.subject import Subject
from collectors.gpu.pcie import Kind, PciDevice, PciTree
from diagnostics.check import NODE
from diagnostics.checks.kernel.ports import named
from diagnostics.finding import Finding, found
from diagnostics.incidents import join

PORT = "0000:4c:01.0"


def error(subject: Subject = NODE) -> Finding:
    """Return what the check says of a fatal error at a port."""
    return found(
        "pcie_error",
        "critical",
        subject,
        "the PCIe device at {device} reported a fatal error",
        device=PORT,
    )


def device(address: str, kind: Kind, *above: str) -> PciDevice:
    return PciDevice(address=address, kind=kind, above=("pci0000:4b", *above))


@pytest.mark.parametrize(
    ("devices", "subject", "words"),
    [
        (
            [device("0000:4e:00.0", "gpu", "0000:4b:01.0", PORT)],
            Subject(kind="gpu", name="0000:4e:00.0"),
            "; below this port: GPU 0000:4e:00.0",
        ),
        (
            [device("0000:4e:00.0", "gpu", PORT), device("0000:4f:00.0", "nic", PORT)],
            NODE,
            "; below this port: GPU 0000:4e:00.0, network card 0000:4f:00.0",
        ),
        ([device("0000:4e:00.0", "nvme", PORT)], NODE, "; below this port: NVMe 0000:4e:00.0"),
        ([device("0000:4e:00.0", "gpu", "0000:4b:02.0")], NODE, ""),
        ([], NODE, ""),
    ],
)
def test_a_port_is_told_by_what_hangs_below_it(
    devices: list[PciDevice], subject: Subject, words: str
) -> None:
    """Its sentence names them; it is about a GPU only where nothing else hangs there."""
    told = named(error(), PciTree(devices=tuple(devices)))
    key = "pcie_error.below" if words else "pcie_error"

    assert (subject, f"the PCIe device at {PORT} reported a fatal error{words}", key) == (
        told.subject,
        told.message,
        told.text.key,
    )


def test_many_are_counted() -> None:
    """Sixteen functions below one switch do not make a sentence of two lines."""
    many = [device(f"0000:{bus:02x}:00.0", "nvme", PORT) for bus in range(0x50, 0x60)]
    told = named(error(), PciTree(devices=tuple(many)))

    assert told.message.endswith("NVMe 0000:57:00.0 and 8 more")


@pytest.mark.parametrize("tree", [PciTree(), None])
def test_what_is_not_seen_changes_nothing(tree: Observation | None) -> None:
    """Without the tree, and for a device that tells of itself, the finding is as it was."""
    absent = Missing(what="PciTree", cause=Cause.TIMEOUT, detail="no answer in 5 s")
    card = Subject(kind="gpu", name="0000:4e:00.0")
    given = tree if isinstance(tree, PciTree) else absent

    assert (error(), error(card)) == (named(error(), given), named(error(card), given))


def test_it_is_joined_with_what_the_driver_says_of_the_same_gpu() -> None:
    """An error at the port above explains why the driver lost the GPU."""
    tree = PciTree(devices=(device("0000:4e:00.0", "gpu", PORT),))
    lost = found(
        "gpu_lost", "critical", Subject(kind="gpu", name="0000:4e:00.0"), "NVML reports it as lost"
    )
    findings = [
        msgspec.structs.replace(named(error(), tree), id="f1", stage="driver"),
        msgspec.structs.replace(lost, id="f2", stage="driver"),
    ]

    assert [None, "f1"] == [f.explained_by for f in join.explain(findings)]
