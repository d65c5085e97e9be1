"""NVIDIA's functions on the PCI bus."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.gpu.bus import PciFunction, PciGpus, collect, fields, function
from collectors.node.live import Live
from tests.recording import recorded


def uevent(kind: str, ids: str, driver: str = "") -> str:
    bound = f"DRIVER={driver}\n" if driver else ""
    return f"{bound}PCI_CLASS={kind}\nPCI_ID={ids}\nPCI_SUBSYS_ID=10DE:16C1\nMODALIAS=pci:v0\n"


def test_gpus_switches_and_nodes_of_a_server(tmp_path: Path) -> None:
    """GPUs by class 0x0300 and 0x0302, NVSwitches by 0x0680, and nothing else of the vendor."""
    bus = "/sys/bus/pci/devices"
    files = {
        f"{bus}/0000:4e:00.0/uevent": uevent("30200", "10DE:2330", "nvidia"),
        f"{bus}/0000:01:00.0/uevent": uevent("30000", "10DE:1EB8", "nouveau"),
        f"{bus}/0000:01:00.1/uevent": uevent("40300", "10DE:10F8", "snd_hda_intel"),
        f"{bus}/0000:07:00.0/uevent": uevent("68000", "10DE:22A3", "nvidia-nvswitch"),
        f"{bus}/0000:19:00.0/uevent": uevent("20700", "15B3:1021", "mlx5_core"),
        f"{bus}/0000:ab:00.0/uevent": uevent("30200", "10DE:2330"),
        **{f"/dev/{name}": "" for name in ("nvidia10", "nvidia9", "nvidiactl", "nvidia-uvm")},
    }
    expected = PciGpus(
        gpus=(
            PciFunction(address="0000:01:00.0", model="1eb8", driver="nouveau", display=True),
            PciFunction(address="0000:4e:00.0", model="2330", driver="nvidia"),
            PciFunction(address="0000:ab:00.0", model="2330"),
        ),
        switches=(PciFunction(address="0000:07:00.0", model="22a3", driver="nvidia-nvswitch"),),
        minors=(9, 10),
    )
    got = asyncio.run(collect(recorded(tmp_path, files=files), Wanted()))

    assert isinstance(got, PciGpus)
    assert set(expected.gpus) == set(got.gpus)
    assert (expected.switches, expected.minors) == (got.switches, got.minors)


def test_a_machine_without_a_bus_has_no_gpu(tmp_path: Path) -> None:
    """No /sys/bus/pci is an answer: there is none."""
    assert PciGpus() == asyncio.run(collect(recorded(tmp_path), Wanted()))


async def test_this_machine_answers() -> None:
    """The real bus is read without an error, whatever is on it."""
    node = Live()
    got = await collect(node, Wanted())
    await node.close()

    assert isinstance(got, PciGpus)
    assert all(len(gpu.model) == 4 for gpu in got.gpus)


@given(st.text(), st.text())
def test_no_text_breaks_the_parser(address: str, text: str) -> None:
    """A function is NVIDIA's only where its vendor is."""
    got = function(address, fields(text), "300", "302")

    assert got is None or "PCI_ID=10DE:" in text
