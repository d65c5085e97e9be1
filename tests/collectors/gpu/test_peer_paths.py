"""ACS of PCIe ports: where its register stands, and when it is asked for."""

import asyncio
import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.gpu.peer_paths import PeerPaths, collect
from collectors.helpers.children.acs import SPACE, register
from tests.recording import recorded


def space(*capabilities: tuple[int, int, int], control: int = 0) -> bytes:
    """Return a configuration space with extended capabilities (at, id, next)."""
    data = bytearray(SPACE)
    for at, kind, following in capabilities:
        struct.pack_into("<I", data, at, kind | 1 << 16 | following << 20)
        if kind == 0x000D:
            struct.pack_into("<H", data, at + 6, control)
    return bytes(data)


def test_the_register_is_found_behind_other_capabilities() -> None:
    """AER stands first and leads to ACS."""
    assert 0x1D == register(space((0x100, 1, 0x148), (0x148, 0x000D, 0), control=0x1D))


def test_a_port_without_acs_has_no_register() -> None:
    """The row of capabilities ends, or there is none."""
    assert [None, None, None] == [
        register(space((0x100, 1, 0))),
        register(bytes(SPACE)),
        register(bytes(64)),
    ]


def test_a_row_that_leads_in_a_circle_ends() -> None:
    """A broken device cannot hold the reader."""
    assert None is register(space((0x100, 1, 0x148), (0x148, 2, 0x100)))


@given(st.binary(max_size=SPACE))
def test_any_space_is_read(data: bytes) -> None:
    """Whatever stands there, it is a register of 16 bits or none."""
    got = register(data)

    assert True is (got is None or 0 <= got <= 0xFFFF)


def test_without_a_driver_nobody_is_asked(tmp_path: Path) -> None:
    """On a node without NVIDIA's driver the configuration space is left alone."""
    cpu = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"

    assert PeerPaths(virtual=True) == asyncio.run(
        collect(recorded(tmp_path, files={"/proc/cpuinfo": cpu}), Wanted())
    )


def test_with_a_driver_the_reader_is(tmp_path: Path) -> None:
    """Its answer is by address, beside the IOMMU's domains."""
    files = {
        "/proc/cpuinfo": "flags\t\t: fpu vme\n",
        "/sys/module/nvidia/initstate": "live\n",
        "/sys/bus/pci/devices/0000:18:00.0/iommu_group/type": "DMA-FQ\n",
    }
    answers = [{"kind": "acs", "answer": {"0000:16:01.0": 29}}]

    expected = PeerPaths(acs={"0000:16:01.0": 29}, iommu={"0000:18:00.0": "DMA-FQ"})
    assert expected == asyncio.run(
        collect(recorded(tmp_path, files=files, answers=answers), Wanted())
    )
