"""The GPUs' part of a node: PCI functions, the driver's files, who holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.nodes.build.folder import Folder, Json

FOLDERS = (
    *("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"),
    "/usr/local/nvidia/lib64",
    *(
        f"/run/nvidia/driver/usr/{part}"
        for part in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64")
    ),
)
MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nouveau")


@dataclass(frozen=True)
class Gpu:
    """One GPU: where it is, what runs on it, and in `says` what NVML says otherwise than its model.

    `device` is its PCI device id, `model` the simulator's name of the product; `computes` maps pids
    to MiB, and `used_mib` is all that is in use. Keys of `says` are those of a scenario's GPU.
    """

    index: int
    pci: str
    device: str
    model: str
    used_mib: int = 4
    use: int = 0
    computes: tuple[tuple[int, int], ...] = ()
    serial: str | None = None
    display: bool = False
    says: Mapping[str, object] = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        """Return an id of the true shape."""
        return (
            f"GPU-{0x3C0A91E0 + self.index:08x}-5b1d-47f2-9a6e-{0x71D20C4B3E00 + self.index:012x}"
        )

    def uevent(self, driver: str | None = "nvidia") -> str:
        """Return what its PCI function says."""
        kind = "30000" if self.display else "30200"
        ids = f"PCI_CLASS={kind}\nPCI_ID=10DE:{self.device}\nPCI_SLOT_NAME={self.pci}"
        return f"DRIVER={driver}\n{ids}" if driver else ids


@dataclass(frozen=True)
class Driver:
    """The loaded driver: version, its libraries' version and folder, its modules."""

    version: str
    library: str | None = None
    folder: str = FOLDERS[0]
    modules: tuple[str, ...] = MODULES[:5]
    open_source: bool = True
    machine: str = "x86_64"

    def text(self) -> str:
        """Return /proc/driver/nvidia/version, in the spelling of its kind."""
        by = "Release Build  (dvs-builder@U22)  " if self.open_source else ""
        when = "Tue Sep 30 15:07:55 UTC 2025"
        head = f"NVRM version: NVIDIA UNIX {self.kind()}  {self.version}  {by}{when}"
        return f"{head}\nGCC version:  gcc version 12.3.0"

    def kind(self) -> str:
        """Return which modules these are, in the driver's words."""
        if self.open_source:
            return f"Open Kernel Module for {self.machine}"
        return f"{self.machine} Kernel Module"


@dataclass(frozen=True)
class Holder:
    """A process that has NVIDIA devices open; `minors` are its /dev/nvidiaN."""

    pid: int
    comm: str
    start_s: float
    cgroup: str
    minors: tuple[int, ...] = ()
    uid: int = 0
    fds: int = 24
    fd_limit: int = 1048576
    environ: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    contained: bool = False

    def answer(self) -> Json:
        """Return the reader's entry."""
        devices = [f"/dev/nvidia{minor}" for minor in self.minors]
        uvm = ["/dev/nvidia-uvm"] if self.minors else []
        return {
            "pid": self.pid,
            "start_ticks": round(self.start_s * 100),
            "uid": self.uid,
            "comm": self.comm,
            "cgroup": f"{self.cgroup}\n",
            "devices": sorted([*uvm, *devices, "/dev/nvidiactl"]),
            "fds": self.fds,
            "fd_limit": self.fd_limit,
        }


def hardware(
    folder: Folder, gpus: Sequence[Gpu], switches: Sequence[str], owner: str | None
) -> None:
    """Write the PCI functions of GPUs and NVSwitches; *owner* is the driver that GPUs are bound to.

    What lies below is whether the modules are there, which `software` writes.
    """
    for gpu in gpus:
        folder.file(f"/sys/bus/pci/devices/{gpu.pci}/uevent", gpu.uevent(owner))
    for address in switches:
        said = f"DRIVER=nvidia-nvswitch\nPCI_CLASS=68000\nPCI_ID=10DE:22A3\nPCI_SLOT_NAME={address}"
        folder.file(f"/sys/bus/pci/devices/{address}/uevent", said)
    folder.paths += ["/sys/bus/pci/devices/*/uevent"]
    folder.names += ["/dev/nvidia[0-9]*", "/proc/driver/nvidia/version"]
    folder.names += [
        f"{path}/{lib}.so.*" for path in FOLDERS for lib in ("libnvidia-ml", "libcuda")
    ]
    folder.paths += [
        f"/sys/module/{m}/{f}" for m in MODULES for f in ("initstate", "version", "refcnt")
    ]
    folder.paths.append("/proc/driver/nvidia/version")


def software(folder: Folder, driver: Driver, gpus: Sequence[Gpu]) -> None:
    """Write modules, libraries and device nodes, and that the control node opens."""
    for module in driver.modules:
        folder.file(f"/sys/module/{module}/initstate", "live")
        folder.file(f"/sys/module/{module}/refcnt", "9")
        if module != "nvidia_peermem":
            folder.file(f"/sys/module/{module}/version", driver.version)
    folder.file("/proc/driver/nvidia/version", driver.text())
    library = driver.library or driver.version
    for name in ("libnvidia-ml.so", "libcuda.so"):
        folder.file(f"{driver.folder}/{name}.1")
        folder.file(f"{driver.folder}/{name}.{library}")
    nodes = [f"/dev/nvidia{gpu.index}" for gpu in gpus] + ["/dev/nvidiactl", "/dev/nvidia-uvm"]
    for node in nodes:
        folder.file(node)
    rights = {"mode": 0o666, "uid": 0, "gid": 0}
    folder.answer("device_nodes", {"error": None, "user": 0, "nodes": dict.fromkeys(nodes, rights)})


def held(folder: Folder, holders: Sequence[Holder]) -> None:
    """Write who has the devices open, their environment, and what they write."""
    listed = sorted(holders, key=lambda h: h.pid)
    folder.answer("holders", {"holders": [h.answer() for h in listed], "unseen": 0}, seconds=0.06)
    if not listed:
        return
    environ = {str(h.pid): dict(h.environ) for h in listed}
    folder.answer("environ", environ, {"pids": [h.pid for h in listed]})
    outside = [h for h in listed if not h.contained]
    if outside:
        files = {str(h.pid): list(h.files) for h in outside}
        folder.answer("open_files", files, {"pids": [h.pid for h in outside]})
