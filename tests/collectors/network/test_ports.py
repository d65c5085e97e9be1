"""Ports from sysfs: every form that the kernel writes, and no form that makes the reader raise."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.network.ports import CLASS, Port, Ports, collect, parse
from tests.recording import recorded, write

UEVENT = "DRIVER=mlx5_core\nPCI_CLASS=20700\nPCI_ID=15B3:1021\nPCI_SLOT_NAME=0000:5d:00.0\n"


def tree(device: str, **changed: str) -> dict[str, str]:
    """Return the files of one device with one port, as an NDR card shows them."""
    port = {
        "state": "4: ACTIVE\n",
        "phys_state": "5: LinkUp\n",
        "rate": "400 Gb/sec (4X NDR)\n",
        "link_layer": "InfiniBand\n",
        "lid": "0x1f\n",
        "sm_lid": "0x1\n",
    }
    files = {f"{CLASS}/{device}/ports/1/{n}": t for n, t in (port | changed).items()}
    card = {"node_type": "1: CA\n", "fw_ver": "28.42.1000\n", "hca_type": "MT4129\n"}
    files |= {f"{CLASS}/{device}/{name}": text for name, text in card.items()}
    files[f"{CLASS}/{device}/board_id"] = "MT_0000000838\n"
    files[f"{CLASS}/{device}/device/uevent"] = UEVENT
    return files


def test_a_port_as_the_kernel_shows_it(tmp_path: Path) -> None:
    """Every field of a port is read, with numbers as numbers."""
    node = recorded(tmp_path, files=tree("mlx5_4"))

    expected = Ports(
        ports=(
            Port(
                device="mlx5_4",
                port=1,
                state="ACTIVE",
                phys_state="LinkUp",
                rate_gbps=400.0,
                width=4,
                link_layer="InfiniBand",
                lid=31,
                sm_lid=1,
                node_type="CA",
                hca_type="MT4129",
                board_id="MT_0000000838",
                fw_ver="28.42.1000",
                pci="0000:5d:00.0",
            ),
        )
    )
    assert expected == asyncio.run(collect(node, Wanted()))


def test_no_device_is_no_port(tmp_path: Path) -> None:
    """A node without RDMA devices has seen its ports: there are none."""
    assert Ports() == asyncio.run(collect(recorded(tmp_path), Wanted()))


def test_devices_come_in_natural_order(tmp_path: Path) -> None:
    """mlx5_10 stands after mlx5_9."""
    node = recorded(tmp_path, files=tree("mlx5_10") | tree("mlx5_9"))

    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Ports)
    assert ["mlx5_9/1", "mlx5_10/1"] == [port.name for port in seen.ports]


def test_functions_of_a_card_are_virtual(tmp_path: Path) -> None:
    """An SR-IOV function is known by its link to the physical one, a scalable one by its bus."""
    files = tree("mlx5_8") | tree("mlx5_9") | tree("mlx5_10")
    files[f"{CLASS}/mlx5_8/device/physfn"] = ""
    files[f"{CLASS}/mlx5_9/device/uevent"] = "MODALIAS=auxiliary:mlx5_core.sf\n"
    node = recorded(tmp_path, files=files)

    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Ports)
    assert [True, True, False] == [port.virtual for port in seen.ports]


def test_a_port_on_its_way_up_is_read_again(tmp_path: Path) -> None:
    """A port that is in INIT for part of a second after its link came up is told as ACTIVE."""
    folder = tmp_path / "node"
    write(folder, files=tree("mlx5_0", state="2: INIT\n", sm_lid="0x0\n"))
    write(folder / "at" / "0.5", files=tree("mlx5_0"))
    node = recorded(folder, files=tree("mlx5_0", state="2: INIT\n", sm_lid="0x0\n"))

    seen = asyncio.run(collect(node, Wanted(sample_s=1.0)))

    assert isinstance(seen, Ports)
    assert ["ACTIVE"] == [port.state for port in seen.ports]


def test_settled_ports_cost_no_time(tmp_path: Path) -> None:
    """Nothing waits where no port is on its way up."""
    node = recorded(tmp_path, files=tree("mlx5_0") | tree("mlx5_1", state="1: DOWN\n"))

    asyncio.run(collect(node, Wanted()))

    assert node.monotonic() == 0.0


def test_an_unreadable_file_is_not_reported() -> None:
    """A file that cannot be read, or holds something else, is None and hides nothing else."""
    texts = tree("mlx5_0", rate="fast\n", lid="none\n")
    del texts[f"{CLASS}/mlx5_0/ports/1/state"]

    port = parse(Files(texts=texts)).ports[0]

    expected = (None, None, None, None, "LinkUp")
    assert expected == (port.state, port.rate_gbps, port.width, port.lid, port.phys_state)


@given(st.integers(1, 4000), st.sampled_from([1, 2, 4, 8, 12]), st.integers(0, 0xFFFF))
def test_rates_and_lids_round_trip(gbps: int, width: int, lid: int) -> None:
    """What the kernel's formats say of a number is read back as that number."""
    rate = f"{gbps} Gb/sec ({width}X NDR)\n"

    port = parse(Files(texts=tree("mlx5_0", rate=rate, lid=f"{lid:#x}\n"))).ports[0]

    assert (float(gbps), width, lid) == (port.rate_gbps, port.width, port.lid)


@given(st.text(), st.sampled_from(["state", "phys_state", "rate", "link_layer", "lid", "sm_lid"]))
def test_any_text_is_read(text: str, name: str) -> None:
    """No content of a port's file makes the parser raise, or the port vanish."""
    seen = parse(Files(texts=tree("mlx5_0", **{name: text})))

    assert ["mlx5_0/1"] == [port.name for port in seen.ports]
