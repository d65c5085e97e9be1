"""The interfaces that NCCL takes, by name and by its own order."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.network.interfaces import Interface
from diagnostics.nccl.sockets import choose


def nic(name: str, *addresses: str, up: bool = True, running: bool = True) -> Interface:
    """Return an interface."""
    return Interface(name=name, up=up, running=running, mtu=1500, addresses=addresses)


LO = nic("lo", "127.0.0.1", "::1")
ETH = nic("eth0", "192.0.2.17", "2001:db8::17")
SIX = nic("eth1", "fe80::17")
DOCKER = nic("docker0", "172.17.0.1")
GUESTS = nic("virbr0", "192.168.122.1")
IPOIB = nic("ib0", "198.51.100.17")
DOWN = nic("ib1", "198.51.100.18", running=False)
BARE = nic("ib2")


@pytest.mark.parametrize(
    ("there", "settings", "expected"),
    [
        ((LO, ETH, DOCKER, IPOIB), {}, ["ib0"]),
        ((LO, ETH, DOCKER, DOWN, BARE), {}, ["eth0"]),
        ((LO, DOCKER, ETH, SIX, GUESTS), {}, ["eth0", "eth1"]),
        ((LO, DOCKER, GUESTS), {}, ["docker0"]),
        ((LO, GUESTS), {}, ["lo"]),
        ((GUESTS,), {}, ["virbr0"]),
        ((), {}, []),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_IFNAME": "eth"}, ["eth0"]),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_IFNAME": "=eth"}, []),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_IFNAME": "^lo"}, ["eth0", "ib0"]),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_IFNAME": "^"}, ["ib0"]),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_IFNAME": ""}, ["ib0"]),
        ((LO, ETH, IPOIB), {"NCCL_SOCKET_FAMILY": "AF_INET6"}, ["eth0"]),
        ((LO, SIX), {"NCCL_SOCKET_FAMILY": "AF_INET"}, ["lo"]),
    ],
)
def test_what_is_taken(
    there: tuple[Interface, ...], settings: Mapping[str, str], expected: list[str]
) -> None:
    """IPoIB goes first, containers and loopback last; what has no link or address never."""
    assert expected == [one.name for one in choose(there, settings).interfaces]


def test_the_address_of_the_first_rank_may_decide() -> None:
    """Where NCCL_COMM_ID is given it decides unless IPoIB is there."""
    hint = {"NCCL_COMM_ID": "192.0.2.16:29400"}

    assert (True, False) == (choose((LO, ETH), hint).hinted, choose((LO, IPOIB), hint).hinted)


@given(
    names=st.lists(
        st.sampled_from(["lo", "docker0", "eth0", "eth1", "ib0", "virbr0"]), unique=True, max_size=6
    ),
    value=st.text("^=,loethib01docker", max_size=12),
)
def test_what_is_taken_is_there_and_in_order(names: list[str], value: str) -> None:
    """Whatever a list says, what it takes stands there, in the kernel's order."""
    there = tuple(nic(name, "192.0.2.1") for name in names)
    found = [one.name for one in choose(there, {"NCCL_SOCKET_IFNAME": value}).interfaces]

    assert found == [name for name in names if name in found]


@given(st.lists(st.sampled_from(["lo", "docker0", "eth0", "ib0", "virbr0"]), min_size=1))
def test_by_itself_it_takes_something(names: list[str]) -> None:
    """Any interface with an address is enough for a job on one node."""
    there = tuple(nic(name, "192.0.2.1") for name in dict.fromkeys(names))

    assert choose(there, {}).interfaces
