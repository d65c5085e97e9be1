"""The well nodes: an H100, an A100, a workstation, one without a GPU; kubernetes.py has one."""

from dataclasses import replace

from tests.nodes.build import bmc
from tests.nodes.build.board import Before
from tests.nodes.build.boot import boot
from tests.nodes.build.gpus import MODULES, Driver, Gpu, Holder
from tests.nodes.build.host import Drive, Mount, Process
from tests.nodes.build.network import Nic, Peer
from tests.nodes.build.node import Node
from tests.nodes.build.parts import (
    CHRONY,
    DMI,
    DRIVER,
    TAKEN,
    baseboard,
    gpus,
    in_slurm,
    persistenced,
    ports,
    slots,
)
from tests.nodes.build.system import KTHREADS, LOOPBACK, MEMORY, services


def h100() -> Node:
    """Return an eight-GPU H100 node of a Slurm cluster, with nobody on it."""
    uptime = 1_209_622.4
    cards = gpus(8, device="2330", model="h100-sxm")
    lines = ports(8)
    drives = (
        Drive("nvme0", "0000:01:00.0", model="SAMSUNG MZ1L21T9HCLS-00A07"),
        *(Drive(f"nvme{n}", f"0000:{0x80 + n:02x}:00.0") for n in range(1, 5)),
    )
    nics = (
        LOOPBACK,
        Nic("eno1", ("192.0.2.17", "fe80::5054:ff:fe12:3417"), speed=25000, pci="0000:04:00.0"),
        # Cabled by nobody and left up by the installer: no fault.
        Nic("eno2", running=False, pci="0000:04:00.1"),
        *(Nic(f"ib{n}", kind="32", mtu=2044, speed=400000) for n in range(8)),
    )
    return Node(
        name="gpu-017",
        taken=TAKEN,
        uptime_s=uptime,
        boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11",
        kernel="6.8.0-87-generic",
        memory_gib=(2015, 1937.4),
        processes=(
            *KTHREADS,
            *services("slurmd", "munged", "chronyd", "nv-fabricmanage", "nvidia-imex"),
            Process(1702, "nvidia-persiste", start_s=41.2, cpu=5),
            Process(1811, "nv-hostengine", start_s=44.0, cpu=6, threads=9),
        ),
        mounts=(
            Mount("/", "ext4", "/dev/nvme0n1p2", "259:2", 1790, 1602, state="rw,errors=remount-ro"),
            Mount("/boot/efi", "vfat", "/dev/nvme0n1p1", "259:1", asked=False),
            *MEMORY,
            Mount("/scratch", "xfs", "/dev/md0", "9:0", 14301, 9120, "rw,noatime"),
            Mount("/data", "nfs4", "nas-2:/export/data", "0:61", 409600, 91340, network=True),
            Mount(
                "/sw",
                "nfs4",
                "nas-1:/export/sw",
                "0:62",
                10240,
                611,
                "ro,relatime",
                "ro",
                network=True,
            ),
        ),
        fstab="UUID=7d0c1a52-8e1f-4c59-b7a8-4f5d2f7e7c10 / ext4 defaults 0 1\n"
        "/dev/md0 /scratch xfs noatime,nofail 0 2\nnas-2:/export/data /data nfs4 hard,_netdev 0 0\n"
        "nas-1:/export/sw /sw nfs4 ro,_netdev 0 0",
        drives=drives,
        mdstat="Personalities : [raid0]\n"
        "md0 : active raid0 nvme4n1[3] nvme3n1[2] nvme2n1[1] nvme1n1[0]\n"
        "      15002422272 blocks super 1.2 512k chunks\n\nunused devices: <none>",
        chrony=CHRONY,
        gpus=cards,
        switches=tuple(f"0000:{bus:02x}:00.0" for bus in range(0x05, 0x09)),
        driver=DRIVER,
        manager=DRIVER.version,
        places={**baseboard(8, 8), **slots(drives)},
        dmi=DMI,
        bmc=bmc.air_cooled(),
        before=Before(uptime + 190.0),
        slurm=in_slurm(8, "gpu-[001-256]", "h100"),
        expect={"ib_ports": 8, "ib_rate_gbps": 400, "nvme": 5},
        holders=(
            *persistenced(8),
            Holder(1290, "nv-fabricmanage", 43.1, "0::/system.slice/nvidia-fabricmanager.service"),
        ),
        jobs=(),
        ports=lines,
        nics=nics,
        peers=(
            Peer("gpu-018", lid=112, address="192.0.2.18"),
            Peer("gpu-203", lid=1840, address="192.0.2.203"),
        ),
        kmsg=boot(cards, lines, drives, DRIVER, uptime),
    )


def a100() -> Node:
    """Return an eight-GPU A100 node of 2021 on an older driver, with nobody on it."""
    uptime = 4_881_020.9
    driver = Driver("535.274.02", folder="/usr/lib64", open_source=False)
    big = {"name": "NVIDIA A100-SXM4-80GB", "memory.total_bytes": 81920 << 20}
    cards = gpus(8, device="20B2", model="a100-sxm4-40", says=big)
    old = {"rate": "HDR", "hca_type": "MT4123", "board": "MT_0000000223", "firmware": "20.43.2566"}
    lines = ports(4, pci_id="15B3:101B", **old)
    # The second port of the storage card has no cable: never up, so no LID and no speed.
    storage = replace(lines[0], device="mlx5_4", pci="0000:61:00.0", lid=55, board="MT_0000000224")
    storage = replace(storage, netdev=None)
    spare = replace(storage, device="mlx5_5", pci="0000:61:00.1", lid=0xFFFF, rate="SDR", sm_lid=0)
    spare = replace(spare, state="1: DOWN", phys="2: Polling")
    well = h100()
    return replace(
        well,
        name="gpu-402",
        uptime_s=uptime,
        boot_id="b2f2f5b8-0c5e-4c8e-8c52-6a1f3b1e9d24",
        kernel="5.14.0-427.13.1.el9_4.x86_64",
        memory_gib=(1007, 951.0),
        drives=(
            Drive("nvme0", "0000:22:00.0", model="Micron_7300_MTFDHBE1T9TDF", used_percent=38),
            Drive("nvme1", "0000:23:00.0", model="KCM6DRUL3T84", used_percent=61, media_errors=2),
        ),
        mounts=(
            Mount("/", "xfs", "/dev/nvme0n1p3", "259:3", 1788, 1490),
            *MEMORY,
            Mount("/scratch", "xfs", "/dev/nvme1n1", "259:5", 3576, 3010, "rw,noatime"),
            Mount(
                "/lustre", "lustre", "192.0.2.40@o2ib:/work", "0:48", 2097152, 310200, network=True
            ),
        ),
        fstab="UUID=1c1f6d2e-2f0a-4c44-9c5f-1d1b2b0f6a33 / xfs defaults 0 0\n"
        "/dev/nvme1n1 /scratch xfs noatime 0 0",
        mdstat="Personalities : \nunused devices: <none>",
        governor=("performance", "acpi-cpufreq", None, 4),
        gpus=cards,
        switches=tuple(f"0000:{bus:02x}:00.0" for bus in range(0x05, 0x0B)),
        driver=driver,
        manager=driver.version,
        places=baseboard(8, 4),
        dmi={**DMI, "bios_version": "1.11", "board_name": "H12DSG-O-CPU"},
        before=Before(uptime + 240.0, shutdown="System is powering down."),
        slurm=in_slurm(8, "gpu-[400-415]", "a100"),
        expect={},
        ports=(*lines, storage, spare),
        nics=(
            LOOPBACK,
            Nic(
                "bond0", ("192.0.2.142",), physical=False, speed=50000, members=("ens1f0", "ens1f1")
            ),
            Nic("ens1f0", pci="0000:64:00.0", speed=25000),
            Nic("ens1f1", pci="0000:64:00.1", speed=25000),
            *(Nic(f"ib{n}", kind="32", mtu=4092, speed=200000) for n in range(4)),
        ),
        peers=(Peer("gpu-403", lid=212),),
        kmsg=boot(cards, lines, (), driver, uptime),
    )


def workstation() -> Node:
    """Return a desktop with one RTX 4090 on which its user trains something small."""
    uptime = 93_211.3
    driver = Driver("575.64.03", modules=MODULES[:4])
    python = 61_214
    card = Gpu(
        index=0,
        pci="0000:01:00.0",
        device="2684",
        model="rtx-4090",
        used_mib=19_220,
        use=98,
        computes=((python, 18_310),),
        display=True,
        says={
            "pcie.generation": 4,
            "clocks.sm_mhz": 2640,
            "clocks.reasons": 4,
            "power.draw_mw": 441_000,
            "temperature.gpu_c": 71,
            "temperature.margin_c": 12,
        },
    )
    drive = Drive("nvme0", "0000:02:00.0", model="WD_BLACK SN850X 2000GB", mib_per_s=60)
    session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-{}.scope"
    desktop = "0::/user.slice/user-1000.slice/session-2.scope"
    return Node(
        name="desk-7",
        taken=TAKEN,
        uptime_s=uptime,
        boot_id="0a9d9f5e-2b60-4b2e-9d61-3f8d1c5b7a02",
        kernel="6.14.0-33-generic",
        memory_gib=(125, 71.2),
        processes=(
            *KTHREADS,
            *services("systemd-timesyn", "NetworkManager", "gdm3"),
            Process(2210, "Xorg", ppid=2200, start_s=52.0, cpu=3),
            Process(2399, "gnome-shell", ppid=2301, start_s=55.0, threads=21),
            Process(python, "python", ppid=61_200, start_s=88_000.0, cpu=7, threads=44),
        ),
        mounts=(
            Mount("/", "ext4", "/dev/nvme0n1p2", "259:2", 1832, 402, state="rw,errors=remount-ro"),
            *MEMORY,
            Mount(
                "/snap/core22/2133",
                "squashfs",
                "/dev/loop0",
                "7:0",
                options="ro,nodev",
                asked=False,
            ),
            Mount("/run/user/1000/doc", "fuse.portal", "portal", "0:72", asked=False),
        ),
        fstab="UUID=4e0a8f7c-5a0d-4b5c-9d0c-6b6e1e0f9b51 / ext4 errors=remount-ro 0 1",
        drives=(drive,),
        governor=("powersave", "amd-pstate-epp", "balance_performance", 4),
        gpus=(card,),
        driver=driver,
        holders=(
            Holder(2210, "Xorg", 52.0, desktop, (0,), uid=1000),
            Holder(2399, "gnome-shell", 55.0, session.format("gnome-shell"), (0,), uid=1000),
            Holder(
                python,
                "python",
                88_000.0,
                session.format("org.gnome.Terminal-61190"),
                (0,),
                uid=1000,
                fds=81,
                fd_limit=1024,
                files=("/home/user1/runs/events.out", "/home/user1/runs/last.pt.tmp"),
            ),
        ),
        nics=(
            LOOPBACK,
            Nic("enp6s0", ("192.0.2.77",), speed=2500, pci="0000:06:00.0", driver="igc"),
            Nic("wlp5s0", running=False, pci="0000:05:00.0", driver="iwlwifi"),
            Nic("docker0", ("198.51.100.1",), running=False, physical=False),
        ),
        kmsg=boot((card,), (), (drive,), driver, uptime),
    )


def cpu_only() -> Node:
    """Return a node of the same cluster that has no GPU: data is prepared there."""
    uptime = 2_044_012.7
    well = h100()
    lines = ports(1)
    return replace(
        well,
        name="cpu-112",
        uptime_s=uptime,
        boot_id="e3c4b1d0-77aa-4d2c-8a4f-90b54d1f2c63",
        memory_gib=(503, 210.5),
        processes=(
            *KTHREADS,
            *services("slurmd", "munged", "chronyd"),
            Process(90_411, "slurmstepd", start_s=2_000_100.0),
            Process(90_420, "python", state="R", ppid=90_411, start_s=2_000_101.0, threads=64),
        ),
        drives=well.drives[:1],
        mounts=(*well.mounts[:5], *well.mounts[6:]),
        fstab=well.fstab.replace("/dev/md0 /scratch xfs noatime,nofail 0 2\n", ""),
        mdstat="Personalities : \nunused devices: <none>",
        gpus=(),
        switches=(),
        driver=None,
        manager=None,
        places=slots(well.drives[:1]),
        bmc=None,
        slurm=None,
        expect={"ib_ports": 1},
        holders=(),
        jobs=((90_420, "88140", "0"),),
        ports=lines,
        nics=(well.nics[0], well.nics[1], well.nics[3]),
        kmsg=boot((), lines, well.drives[:1], None, uptime),
    )
