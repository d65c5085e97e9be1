"""The PCI tree: which drive and which network card share a way with a GPU."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.gpu.pcie import PciDevice, PciTree, collect, parse
from collectors.node.live import Live
from tests.recording import recorded

SWITCHED = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0"


def uevent(kind: str, ids: str, driver: str = "") -> str:
    bound = f"DRIVER={driver}\n" if driver else ""
    return f"{bound}PCI_CLASS={kind}\nPCI_ID={ids}\nPCI_SUBSYS_ID=10DE:16C1\n"


SERVER = {
    "/sys/devices/pci0000:15/0000:15:01.0/uevent": uevent("60400", "8086:352A", "pcieport"),
    f"{SWITCHED}/uevent": uevent("60400", "1000:C030", "pcieport"),
    f"{SWITCHED}/0000:17:00.0/0000:18:00.0/uevent": uevent("20700", "15B3:1021", "mlx5_core"),
    f"{SWITCHED}/0000:17:00.0/0000:18:00.0/numa_node": "0\n",
    f"{SWITCHED}/0000:17:01.0/0000:19:00.0/uevent": uevent("30200", "10DE:2330", "nvidia"),
    f"{SWITCHED}/0000:17:01.0/0000:19:00.0/numa_node": "0\n",
    f"{SWITCHED}/0000:17:02.0/0000:1a:00.0/uevent": uevent("10802", "144D:A80A", "nvme"),
    f"{SWITCHED}/0000:17:02.0/0000:1a:00.0/numa_node": "-1\n",
    f"{SWITCHED}/0000:17:02.0/0000:1a:00.1/uevent": uevent("20700", "15B3:101E", "mlx5_core"),
    f"{SWITCHED}/0000:17:02.0/0000:1a:00.1/physfn": "",
    "/sys/devices/pci0000:15/0000:15:02.0/uevent": uevent("30000", "1A03:2000", "ast"),
    "/sys/devices/pci0000:15/0000:15:01.0/0000:15:01.0:pcie001/uevent": "PCI_CLASS=20700\n",
}


def test_devices_and_the_way_to_them(tmp_path: Path) -> None:
    """GPU, drive and card below one switch; no virtual function, bridge or screen of the board."""
    got = asyncio.run(collect(recorded(tmp_path, files=SERVER), Wanted()))
    above = ("pci0000:15", "0000:15:01.0", "0000:16:00.0")
    expected = PciTree(
        devices=(
            PciDevice(
                address="0000:18:00.0",
                kind="nic",
                above=(*above, "0000:17:00.0"),
                model="15b3:1021",
                driver="mlx5_core",
                numa=0,
            ),
            PciDevice(
                address="0000:19:00.0",
                kind="gpu",
                above=(*above, "0000:17:01.0"),
                model="10de:2330",
                driver="nvidia",
                numa=0,
            ),
            PciDevice(
                address="0000:1a:00.0",
                kind="nvme",
                above=(*above, "0000:17:02.0"),
                model="144d:a80a",
                driver="nvme",
            ),
        )
    )
    assert expected == got


async def test_live() -> None:
    """This machine's tree is read without an error."""
    node = Live()
    try:
        got = await collect(node, Wanted())
    finally:
        await node.close()
    assert isinstance(got, PciTree)


PATHS = st.lists(
    st.sampled_from(["pci0000:15", "0000:15:01.0", "x", "0000:17:01.0", "uevent"]), max_size=6
).map(lambda parts: "/sys/devices/" + "/".join([*parts, "uevent"]))


@given(
    st.dictionaries(PATHS, st.text(max_size=60) | st.just("PCI_CLASS=30200\nPCI_ID=10DE:2330\n"))
)
def test_any_tree_is_read_without_an_error(texts: dict[str, str]) -> None:
    """Damaged files and odd folders give no device, or one with its way."""
    got = parse(Files(texts=texts))
    assert all(device.kind == "gpu" for device in got.devices)
