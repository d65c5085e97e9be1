"""A node of a Kubernetes cluster: L40S cards, two pods, containers by the runtime's word."""

import hashlib

from tests.nodes.build.boot import boot
from tests.nodes.build.gpus import MODULES, Driver, Gpu, Holder
from tests.nodes.build.host import Drive, Mount, Process
from tests.nodes.build.network import Nic, Peer
from tests.nodes.build.node import Node
from tests.nodes.build.parts import TAKEN
from tests.nodes.build.system import KTHREADS, LOOPBACK, MEMORY, services

PODS = ("5a0c2b1e_6a37_4b62_9a57_0d8d9c0f7e11", "91be4d70_0f6e_4d0a_b7a3_2c5c5f1e8a02")
CGROUP = (
    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}.slice/"
    "cri-containerd-{container}.scope"
)


def container(name: str) -> str:
    """Return an id of the true shape for a container."""
    return hashlib.sha256(name.encode()).hexdigest()


def l40s() -> Node:
    """Return a node with four L40S: one server on two of them, one job on the third."""
    uptime = 611_020.0
    driver = Driver("570.172.08", modules=MODULES[:3])
    work = {0: (40_311, "server"), 1: (40_312, "server"), 2: (51_977, "tune")}
    cards = tuple(_card(n, work.get(n)) for n in range(4))
    drive = Drive("nvme0", "0000:03:00.0", model="Amazon EC2 NVMe Instance Storage")
    held = tuple(_holder(n, *one, uptime) for n, one in work.items())
    exporter = Holder(
        7011, "dcgm-exporter", 260.0, _cgroup("exporter", PODS[0]), (0, 1, 2, 3), contained=True
    )
    plugin = Holder(
        6900, "nvidia-device-p", 250.0, _cgroup("plugin", PODS[0]), (0, 1, 2, 3), contained=True
    )
    return Node(
        name="k8s-gpu-04",
        taken=TAKEN,
        uptime_s=uptime,
        boot_id="c7e61f0b-3f0e-4f43-8d0a-1e2f64bb90d5",
        kernel="6.12.40-63.114.amzn2023.x86_64",
        memory_gib=(743, 512.0),
        processes=(
            *KTHREADS,
            *services("kubelet", "containerd", "chronyd", "aws-k8s-agent"),
            Process(6900, "nvidia-device-p", ppid=6888, start_s=250.0),
            Process(7011, "dcgm-exporter", ppid=7000, start_s=260.0, threads=31),
            *(Process(h.pid, h.comm, ppid=h.pid - 9, start_s=h.start_s, threads=88) for h in held),
        ),
        mounts=(
            Mount("/", "xfs", "/dev/nvme0n1p1", "259:1", 500, 211, "rw,noatime"),
            *MEMORY,
            Mount("/var/lib/kubelet/pods/a/volumes/token", "tmpfs", "tmpfs", "0:91", asked=False),
            Mount(
                "/run/containerd/io.containerd.runtime.v2.task/k8s.io/b/rootfs",
                "overlay",
                "overlay",
                "0:102",
                asked=False,
            ),
            Mount(
                "/mnt/efs", "nfs4", "192.0.2.130:/", "0:60", 8 << 30, (8 << 30) - 900, network=True
            ),
        ),
        fstab="UUID=be0f55c1-1c3a-4d1f-8f0b-0a6d2c4d9e18 / xfs defaults,noatime 1 1",
        drives=(drive,),
        governor=("performance", "intel_pstate", "performance", 0),
        kubelet={
            "gpus": 4,
            "path": "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
        },
        chrony="A9FEA97B,169.254.169.123,4,1796004120.1,0.000002,0.000001,0.000004,"
        "-3.1,0.0,0.01,0.0001,0.0002,16.0,Normal",
        gpus=cards,
        driver=driver,
        holders=(plugin, exporter, *held),
        containers=("crictl", tuple(map(container, ("plugin", "exporter", "server", "tune")))),
        nics=(
            LOOPBACK,
            Nic("ens5", ("192.0.2.104",), speed=None, pci="0000:00:05.0", driver="ena"),
            Nic("cilium_host", ("198.51.100.44",), physical=False),
            Nic("lxc4f0d2a", physical=False),
        ),
        peers=(Peer("k8s-gpu-05", address="192.0.2.105"),),
        kmsg=boot(cards, (), (drive,), driver, uptime),
    )


def _cgroup(name: str, pod: str) -> str:
    return CGROUP.format(pod=pod, container=container(name))


def _card(n: int, work: tuple[int, str] | None) -> Gpu:
    return Gpu(
        index=n,
        pci=f"0000:{0x30 + n:02x}:00.0",
        device="26B9",
        model="l40s",
        used_mib=43_990 if work else 3,
        use=41 if work else 0,
        computes=((work[0], 43_400),) if work else (),
        serial=f"13206230{n:05d}",
    )


def _holder(n: int, pid: int, name: str, uptime: float) -> Holder:
    return Holder(
        pid,
        "python3",
        uptime - 90_000.0,
        _cgroup(name, PODS[name == "tune"]),
        (n,),
        uid=10_001,
        contained=True,
    )
