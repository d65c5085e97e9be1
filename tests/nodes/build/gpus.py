"""The GPUs' part of a node: PCI functions, the driver's files, NVML's answers, who holds them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.nodes.build.folder import Folder, Json

MIB = 1 << 20
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
    """One GPU as NVML shows it; `error` is the code that its handle gives instead.

    `use` is what the two samples read, `computes` maps pids to MiB.
    """

    index: int
    pci: str
    name: str
    device: str
    total_mib: int
    used_mib: int = 4
    reserved_mib: int = 552
    use: tuple[int, int] = (0, 0)
    computes: tuple[tuple[int, int], ...] = ()
    mig: bool | None = False
    serial: str | None = None
    display: bool = False
    error: int | None = None

    @property
    def uuid(self) -> str:
        """Return an id of the true shape."""
        return (
            f"GPU-{0x3C0A91E0 + self.index:08x}-5b1d-47f2-9a6e-{0x71D20C4B3E00 + self.index:012x}"
        )

    def uevent(self, driver: str = "nvidia") -> str:
        """Return what its PCI function says."""
        kind = "30000" if self.display else "30200"
        ids = f"PCI_CLASS={kind}\nPCI_ID=10DE:{self.device}"
        return f"DRIVER={driver}\n{ids}\nPCI_SLOT_NAME={self.pci}"

    def answer(self, sample: int) -> Json:
        """Return NVML's answer for it."""
        if self.error is not None:
            return {"index": self.index, "error": self.error}
        failed: dict[str, int] = {}
        if self.serial is None:
            failed["serial"] = 3
        if self.mig is None:
            failed["mig"] = 3
        return {
            "index": self.index,
            "uuid": self.uuid,
            "pci": self.pci,
            "minor": self.index,
            "name": self.name,
            "serial": self.serial,
            "memory_total_bytes": self.total_mib * MIB,
            "memory_used_bytes": self.used_mib * MIB,
            "memory_reserved_bytes": self.reserved_mib * MIB,
            "utilisation_percent": self.use[sample],
            "mig": self.mig,
            "processes": [{"pid": p, "used_bytes": mib * MIB} for p, mib in self.computes],
            "failed": failed,
        }


@dataclass(frozen=True)
class Driver:
    """The loaded driver: version, its libraries' version and folder, its modules."""

    version: str
    library: str | None = None
    folder: str = FOLDERS[0]
    modules: tuple[str, ...] = MODULES[:5]
    open_source: bool = True

    def text(self) -> str:
        """Return /proc/driver/nvidia/version, in the spelling of its kind."""
        kind = f"x86_64 Kernel Module  {self.version}  "
        if self.open_source:
            kind = (
                f"Open Kernel Module for x86_64  {self.version}  Release Build  (dvs-builder@U22)  "
            )
        when = "Tue Sep 30 15:07:55 UTC 2025"
        return f"NVRM version: NVIDIA UNIX {kind}{when}\nGCC version:  gcc version 12.3.0"


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


def hardware(folder: Folder, gpus: Sequence[Gpu], switches: Sequence[str] = ()) -> None:
    """Write the PCI functions of GPUs and NVSwitches."""
    for gpu in gpus:
        folder.file(f"/sys/bus/pci/devices/{gpu.pci}/uevent", gpu.uevent())
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


def nvml(folder: Folder, driver: Driver, gpus: Sequence[Gpu]) -> None:
    """Write both samples of NVML; the library's own version is the driver's with 13 before it."""
    for sample in (0, 1):
        listed = [gpu.answer(sample) for gpu in gpus]
        head: Json = {"driver": driver.version, "nvml": f"13.{driver.version}", "count": len(gpus)}
        folder.answer("nvml", {**head, "gpus": listed, "failed": {}}, at=sample, seconds=0.08)


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
