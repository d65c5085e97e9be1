"""Parts that several nodes share: eight-GPU boards, their cards, and what stands around them."""

from collections.abc import Sequence

from tests.nodes.build.folder import Json
from tests.nodes.build.gpus import Driver, Gpu, Holder
from tests.nodes.build.host import Drive
from tests.nodes.build.network import Port

TAKEN = "2026-11-30T02:22:07+00:00"
BUSES = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
CARDS = ("17", "29", "39", "5c", "99", "aa", "b9", "da")
DRIVER = Driver("580.105.08")
DMI = {
    "bios_vendor": "American Megatrends Inc.",
    "bios_version": "2.4a",
    "board_name": "X13DEG-OAD",
}
CHRONY = (
    "C0000217,192.0.2.23,3,1796004120.273,-0.000031,0.000012,0.000040,"
    "-11.2,0.001,0.03,0.008,0.0007,64.5,Normal"
)


def gpus(count: int, **parts: object) -> tuple[Gpu, ...]:
    """Return that many GPUs of one kind, at the addresses of an eight-GPU board."""
    return tuple(
        Gpu(index=n, pci=f"0000:{BUSES[n]}:00.0", serial=f"16529220118{n:02d}", **parts)  # type: ignore[arg-type]  # parts by name
        for n in range(count)
    )


def ports(count: int, **parts: object) -> tuple[Port, ...]:
    """Return that many ports, each of a card of its own."""
    places = [(f"mlx5_{n}", f"0000:{CARDS[n]}:00.0", n) for n in range(count)]
    return tuple(
        Port(device=device, pci=pci, lid=40 + n, netdev=f"ib{n}", **parts)  # type: ignore[arg-type]  # parts by name
        for device, pci, n in places
    )


def persistenced(gpu_count: int) -> tuple[Holder, ...]:
    """Return the driver's own holders on a server."""
    every = tuple(range(gpu_count))
    unit = "0::/system.slice/{}.service"
    return (
        Holder(1702, "nvidia-persiste", 41.2, unit.format("nvidia-persistenced"), every, uid=115),
        Holder(1811, "nv-hostengine", 44.0, unit.format("nvidia-dcgm"), every),
    )


def baseboard(gpu_count: int, port_count: int) -> dict[str, str]:
    """Return the ports above GPUs and cards: each pair of them is below one switch."""
    places: dict[str, str] = {}
    for n in range(gpu_count):
        first = int(CARDS[n], 16) - 3
        switch = f"0000:{first:02x}:01.0/0000:{first + 1:02x}:00.0/0000:{first + 2:02x}"
        above = f"pci0000:{first:02x}/{switch}"
        places[f"0000:{BUSES[n]}:00.0"] = f"{above}:01.0"
        if n < port_count:
            places[f"0000:{CARDS[n]}:00.0"] = f"{above}:00.0"
    return places


def slots(drives: Sequence[Drive]) -> dict[str, str]:
    """Return the ports above drives: each has one of the processor's own."""
    buses = {drive.pci: drive.pci[5:7] for drive in drives}
    return {at: f"pci0000:{bus[0]}0/0000:{bus[0]}0:{bus[1]:0>2}.0" for at, bus in buses.items()}


def in_slurm(gpu_count: int, name: str, product: str) -> Json:
    """Return what slurm.conf says of a node."""
    text = f"NodeName={name} Gres=gpu:{product}:{gpu_count}"
    return {"gpus": gpu_count, "path": "/etc/slurm/slurm.conf", "line": 212, "text": text}
