"""InfiniBand cards among the functions of a PCI bus."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.network.cards import PCI, Card, Cards, collect, parse
from collectors.node.live import Live
from tests.recording import recorded


def uevent(address: str, pci_class: str, pci_id: str, driver: str | None) -> dict[str, str]:
    """Return the uevent of one PCI function."""
    bound = f"DRIVER={driver}\n" if driver else ""
    text = f"{bound}PCI_CLASS={pci_class}\nPCI_ID={pci_id}\nPCI_SLOT_NAME={address}\n"
    return {f"{PCI}/{address}/uevent": text}


FILES = {
    **uevent("0000:00:1f.0", "60100", "8086:1B81", "lpc_ich"),
    **uevent("0000:18:00.0", "20700", "15B3:1021", "mlx5_core"),
    **uevent("0000:18:00.1", "20700", "15B3:101E", None),
    **uevent("0000:29:00.0", "20000", "15B3:A2DC", "mlx5_core"),
    **uevent("0000:3a:00.0", "20700", "15B3:1021", None),
    **uevent("0000:4e:00.0", "30200", "10DE:2330", "nvidia"),
    f"{PCI}/0000:18:00.0/infiniband/mlx5_0": "",
    f"{PCI}/0000:29:00.0/infiniband/mlx5_bond_0": "",
    f"{PCI}/0000:18:00.1/physfn": "",
    "/sys/module/mlx5_core": "",
    "/sys/module/mlx5_ib": "",
    "/sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0\n",
}


def test_cards_with_and_without_a_device(tmp_path: Path) -> None:
    """Cards of class InfiniBand are told with driver and device; Ethernet and others are not."""
    expected = Cards(
        cards=(
            Card(pci="0000:18:00.0", pci_id="15B3:1021", driver="mlx5_core", device="mlx5_0"),
            Card(pci="0000:18:00.1", pci_id="15B3:101E", virtual=True),
            Card(pci="0000:3a:00.0", pci_id="15B3:1021"),
        ),
        uverbs=("mlx5_0",),
        modules=("mlx5_core", "mlx5_ib"),
    )

    assert expected == asyncio.run(collect(recorded(tmp_path, files=FILES), Wanted()))


async def test_this_machine_answers() -> None:
    """The bus of the machine that runs the tests is read without an error."""
    node = Live()
    seen = await collect(node, Wanted())
    await node.close()

    assert isinstance(seen, Cards)


@given(st.text())
def test_any_uevent_is_read(text: str) -> None:
    """No content of an uevent makes the parser raise or take the function for another's card."""
    seen = parse(Files(texts={f"{PCI}/0000:18:00.0/uevent": text}))

    assert {card.pci for card in seen.cards} <= {"0000:18:00.0"}
