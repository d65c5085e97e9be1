"""Parameters as numbers, and what carries the data of a job."""

import ctypes
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.network.ports import Port
from diagnostics.knowledge.aliases import named
from diagnostics.nccl.leftovers import LEFTOVERS
from diagnostics.nccl.transport import number, taken, transport

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.restype = ctypes.c_longlong
LIBC.strtoll.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)


def libc(text: str) -> int | None:
    """Return what the C library reads, as NCCL uses it."""
    ctypes.set_errno(0)
    value: int = LIBC.strtoll(text.encode(), None, 0)
    return None if ctypes.get_errno() else value


@given(st.text("0123456789abcdefxX +-", min_size=1, max_size=18))
def test_a_parameter_is_read_as_the_c_library_reads_it(text: str) -> None:
    """NCCL hands the text to strtoll with base 0: signs, hexadecimal, octal and rests behind."""
    assert libc(text) == number(text)


def test_nothing_is_the_default() -> None:
    """An empty value and none leave the default, and so does one out of range."""
    assert (None, None, None) == (number(None), number(""), number("9" * 30))


def port(device: str, *, up: bool = True) -> Port:
    """Return a port."""
    return Port(device=device, port=1, state="ACTIVE" if up else "DOWN")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "ib"),
        ({"NCCL_IB_DISABLE": "0", "NCCL_NET": "IB", "NCCL_NET_PLUGIN": "none"}, "ib"),
        ({"NCCL_IB_DISABLE": "1"}, "socket"),
        ({"NCCL_NET": "Socket"}, "socket"),
        ({"NCCL_IB_HCA": "mlx4"}, "socket"),
        ({"NCCL_IB_HCA": "mlx5_1"}, "socket"),
        ({"NCCL_NET_PLUGIN": "ofi"}, "plugin"),
        ({"NCCL_NET": "AWS Libfabric"}, "plugin"),
        ({"FI_PROVIDER": "efa"}, "plugin"),
        ({"FI_PROVIDER": "efa", "NCCL_NET": "IB"}, "ib"),
    ],
)
def test_what_carries_the_data(settings: Mapping[str, str], expected: str) -> None:
    """Verbs where a port in use is taken, a plugin where one is named, sockets otherwise."""
    ports = (port("mlx5_0"), port("mlx5_1", up=False))

    assert expected == transport(settings, ports)


def test_only_ports_in_use_are_taken() -> None:
    """A port that is down is passed over, whoever names it."""
    ports = (port("mlx5_0"), port("mlx5_1", up=False))

    assert ports[:1] == taken(ports, {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"})


def test_every_leftover_has_its_page() -> None:
    """`gpudiag explain NCCL_P2P_DISABLE` and its like lead to the page that tells of them."""
    expected = {one.name: "nccl_debug_setting_left_on" for one in LEFTOVERS}

    assert expected == {name: named(name) for name in expected}


@given(st.text(max_size=40))
def test_no_value_of_a_leftover_raises(text: str) -> None:
    """Whatever stands in an environment is on, or is not."""
    assert {one.is_on(text) for one in LEFTOVERS} <= {True, False}
