"""The host's part of a node: processes, memory, clock, mounts, disks, kernel log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.nodes.build.folder import Folder, Json

GIB = 1 << 30
KTHREAD = 0x00200040
TICKS_S = 100


@dataclass(frozen=True)
class Process:
    """One process; `start_s` is seconds after boot, `ran_s` before now it ran last.

    `cgroup` is written only for those that stand still: nobody asks for the others'.
    """

    pid: int
    comm: str
    state: str = "S"
    ppid: int = 1
    start_s: float = 40.0
    cpu: int = 0
    threads: int = 1
    ran_s: float = 0.02
    kernel: bool = False
    cgroup: str = ""
    switches: tuple[int, int] = (1, 1)

    def stat(self) -> str:
        """Return the line of /proc/PID/stat, 52 fields."""
        flags = KTHREAD if self.kernel else 4194560
        ids = (
            f"{self.pid} ({self.comm}) {self.state} {self.ppid} {self.pid} {self.pid} 0 -1 {flags}"
        )
        start = round(self.start_s * TICKS_S)
        room = "0 0" if self.kernel else "412405760 9120"
        times = f"0 0 0 0 118 41 0 0 20 0 {self.threads} 0 {start} {room} 18446744073709551615"
        # Fields 26 to 38 are addresses and signals; 39 is the processor.
        return f"{ids} {times} {' '.join('0' * 13)} {self.cpu} {' '.join('0' * 13)}"


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo, with what statfs says; `inodes` are free of `inodes_all`.

    `waits` are the requests to its server that have no answer.
    """

    point: str
    fstype: str
    source: str
    device: str
    size_gib: float = 0.0
    free_gib: float = 0.0
    options: str = "rw,relatime"
    state: str = "rw"
    inodes: int = 40_000_000
    inodes_all: int = 48_000_000
    asked: bool = True
    network: bool = False
    waits: int = 0

    def room(self) -> Json:
        """Return the answer of statfs."""
        return {
            "size_bytes": round(self.size_gib * GIB),
            "free_bytes": round(self.free_gib * GIB),
            "inodes": self.inodes_all,
            "inodes_free": self.inodes,
            "device": self.device,
        }


@dataclass(frozen=True)
class Drive:
    """One NVMe drive; `mib_per_s` is what it moves, `state` its controller's."""

    name: str
    pci: str
    model: str = "SAMSUNG MZQL23T8HCLS-00A07"
    state: str = "live"
    mib_per_s: int = 0
    wait_ms: float = 0.2
    used_percent: int = 3
    media_errors: int = 0
    warning: int = 0

    def uevent(self) -> str:
        """Return what its PCI function says."""
        ids = "PCI_CLASS=10802\nPCI_ID=144D:A80A\nPCI_SUBSYS_ID=144D:A814"
        return f"DRIVER=nvme\n{ids}\nPCI_SLOT_NAME={self.pci}"


def processes(folder: Folder, listed: Iterable[Process], uptime_s: float) -> None:
    """Write /proc: all stat files, and the rest of those that stand still."""
    every = sorted(listed, key=lambda p: p.pid)
    still = [p for p in every if p.state in "DZ" and not p.kernel]
    folder.file("/proc/uptime", f"{uptime_s:.2f} {uptime_s * 96:.2f}")
    for process in every:
        folder.file(f"/proc/{process.pid}/stat", process.stat())
        if still and not process.kernel:
            ran = (uptime_s - process.ran_s) * 1000
            sched = f"{process.comm} ({process.pid}, #threads: {process.threads})"
            folder.file(
                f"/proc/{process.pid}/sched",
                f"{sched}\n{'-' * 67}\n{'se.exec_start':<45}:{ran:>20.6f}",
            )
    for process in still:
        folder.file(f"/proc/{process.pid}/cgroup", process.cgroup or "0::/init.scope")
        for at, count in enumerate(process.switches):
            if not at or count != process.switches[0]:
                folder.file(f"/proc/{process.pid}/status", _status(process, count), at=at)
    names = ("stat", "status", "sched", "cgroup", "limits")
    folder.paths += ["/proc/uptime", *(f"/proc/[0-9]*/{name}" for name in names)]


def _status(process: Process, count: int) -> str:
    word = {"D": "D (disk sleep)", "Z": "Z (zombie)"}[process.state]
    ids = f"Name:\t{process.comm}\nState:\t{word}\nPid:\t{process.pid}\nPPid:\t{process.ppid}"
    return f"{ids}\nvoluntary_ctxt_switches:\t{count}\nnonvoluntary_ctxt_switches:\t0"


def memory(folder: Folder, total_gib: int, available_gib: float, stall: str = "0.00") -> None:
    """Write meminfo and the pressure of memory."""
    kib = [total_gib << 20, round(available_gib * (1 << 20))]
    free = kib[1] // 3
    folder.file(
        "/proc/meminfo",
        f"MemTotal:       {kib[0]} kB\nMemFree:        {free} kB\nMemAvailable:   {kib[1]} kB\n"
        f"Buffers:        1204 kB\nCached:         {kib[1] // 2} kB\nSwapTotal:      0 kB",
    )
    folder.file(
        "/proc/pressure/memory",
        f"some avg10=0.00 avg60={stall} avg300=0.00 total=18211\n"
        f"full avg10=0.00 avg60={stall} avg300=0.00 total=9120",
    )
    folder.file("/proc/sys/fs/file-nr", "21984\t0\t9223372036854775807")
    folder.paths += ["/proc/meminfo", "/proc/pressure/memory", "/proc/sys/fs/file-nr"]


def clock(folder: Folder, *, chrony: str | None = None, status: int = 0x2001) -> None:
    """Write chrony's line, or that it is not there and what the kernel says."""
    argv = ("chronyc", "-n", "-c", "tracking")
    if chrony:
        folder.command(*argv, stdout=f"{chrony}\n")
    else:
        folder.tools.append(argv[0])
    state = 5 if status & 0x40 else 0
    errors = {"max_error_s": 16.0 if state else 0.0124, "estimated_error_s": 0.0}
    folder.answer("clock", {"state": state, "status": status, "offset_s": 0.000021, **errors})


def governor(
    folder: Folder, name: str, driver: str, preference: str | None, count: int = 4
) -> None:
    """Write a few cpufreq policies; none where *count* is 0, as in most guests."""
    base = "/sys/devices/system/cpu/cpufreq"
    for number in range(count):
        folder.file(f"{base}/policy{number}/scaling_governor", name)
        folder.file(f"{base}/policy{number}/scaling_driver", driver)
        if preference:
            folder.file(f"{base}/policy{number}/energy_performance_preference", preference)
    folder.paths.append(f"{base}")


def mounts(folder: Folder, listed: Sequence[Mount], fstab: str) -> None:
    """Write the tables of mounts and the answers of statfs, asked in order of their points."""
    lines = [
        f"{30 + n} 30 {m.device} / {m.point} {m.options} shared:{n + 1} - "
        f"{m.fstype} {m.source} {m.state}"
        for n, m in enumerate(listed)
    ]
    for view in ("1", "self"):
        folder.file(f"/proc/{view}/mountinfo", "\n".join(lines))
    folder.file("/etc/fstab", fstab)
    folder.paths += ["/proc/1/mountinfo", "/proc/self/mountinfo", "/etc/fstab"]
    _servers(folder, listed)
    asked = sorted((m for m in listed if m.asked), key=lambda m: m.point)
    local = [m for m in asked if not m.network]
    points = {"points": [m.point for m in local]}
    folder.answer("statfs_local", [m.room() for m in local], points)
    for mount in (m for m in asked if m.network):
        folder.answer("statfs", mount.room(), {"point": mount.point})


def _servers(folder: Folder, listed: Sequence[Mount]) -> None:
    """Write what the clients of NFS and Lustre counted: the same in both samples."""
    stats = [f"device {m.source} mounted on {m.point} with fstype {m.fstype}" for m in listed]
    for n, mount in enumerate(listed):
        if mount.fstype == "nfs4":
            sent = 48_210 + mount.waits
            stats[n] += (
                f" statvers=1.1\n\txprt:\ttcp 875 1 1 0 2 {sent} 48210 0 31022 0 2 104 98\n"
                "\tper-op statistics\n"
                "\t        READ: 31020 31020 0 6142020 812430218 1201 31020 41022 0"
            )
    folder.file("/proc/1/mountstats", "\n".join(stats))
    mounted = "\n".join(f"{m.source} {m.point} {m.fstype} {m.state} 0 0" for m in listed)
    folder.file("/proc/self/mounts", mounted)
    folder.paths += ["/proc/1/mountstats", "/proc/self/mountstats", "/proc/self/mounts"]
    folder.paths += ["/proc/fs/lustre", "/sys/kernel/debug/lustre"]
    for mount in (m for m in listed if m.fstype == "lustre"):
        server, name = mount.source.split(":/")
        for kind, target in (("mdc", "MDT0000"), ("osc", "OST0000"), ("osc", "OST0001")):
            said = f"    target: {name}-{target}_UUID\n    state: FULL\n"
            path = f"/sys/kernel/debug/lustre/{kind}/{name}-{target}-{kind}-ffff8f02/import"
            folder.file(
                path, f"import:\n{said}    connection:\n       current_connection: {server}"
            )


def drives(folder: Folder, listed: Sequence[Drive], others: Sequence[str] = ()) -> None:
    """Write the NVMe drives, their SMART answers and what they did within a second.

    *others* are whole lines of diskstats that do not change.
    """
    for number, drive in enumerate(listed):
        base = f"/sys/class/nvme/{drive.name}"
        folder.file(f"/sys/bus/pci/devices/{drive.pci}/uevent", drive.uevent())
        values = {"address": drive.pci, "state": drive.state, "transport": "pcie"}
        values |= {"model": drive.model, "serial": f"S6CKNA0X{number:06d}"}
        for name, value in values.items():
            folder.file(f"{base}/{name}", value)
        folder.file(f"/sys/block/{drive.name}n1/queue/rotational", "0")
        if drive.state == "live":
            folder.answer("smart", _smart(drive), {"device": drive.name}, seconds=0.1)
    for at in (0, 1):
        lines = [_diskstats(number, drive, at) for number, drive in enumerate(listed)]
        folder.file("/proc/diskstats", "\n".join([*lines, *others]), at=at)
    folder.paths += ["/proc/diskstats", "/sys/block/*/queue/rotational", "/sys/class/nvme"]
    if "smart" not in folder.kinds:
        folder.kinds.append("smart")


def _smart(drive: Drive) -> Json:
    log = {"critical_warning": drive.warning, "temperature": 41, "available_spare": 100}
    log |= {"available_spare_threshold": 10, "percentage_used": drive.used_percent}
    log |= {"media_errors": drive.media_errors}
    return {
        "model_name": drive.model,
        "smart_status": {"passed": not drive.warning},
        "nvme_smart_health_information_log": log,
        "exit_status": 0,
    }


def _diskstats(number: int, drive: Drive, at: int) -> str:
    requests = 8_107_192 + at * drive.mib_per_s * 4
    sectors = 901_565_866 + at * drive.mib_per_s * 2048
    waited = 1_429_721 + round(at * drive.mib_per_s * 4 * drive.wait_ms)
    busy = 912_020 + at * min(900, drive.mib_per_s)
    done = f"{requests} 31545 {sectors} {waited} 13201 33498 1473840 6044"
    flying = 3 if drive.mib_per_s else 0
    return f" 259 {number} {drive.name}n1 {done} {flying} {busy} {waited + 6044} 6510 53 165336 476"


def raid(folder: Folder, mdstat: str) -> None:
    """Write the table of software arrays."""
    folder.file("/proc/mdstat", mdstat)
    folder.paths.append("/proc/mdstat")


def kernel_log(folder: Folder, lines: Iterable[tuple[float, int, str]], btime: int) -> None:
    """Write the kernel log from (seconds after boot, priority with facility, text)."""
    ordered = sorted(lines, key=lambda line: line[0])
    folder.first.kmsg = [
        f"{priority},{number},{round(second * 1e6)},-;{text}"
        for number, (second, priority, text) in enumerate(ordered)
    ]
    cpus = "".join(f"cpu{n} 81200 40 22120 9921000 1200 0 310 0 0 0\n" for n in range(4))
    folder.file(
        "/proc/stat",
        f"cpu  324800 160 88480 39684000 4800 0 1240 0 0 0\n{cpus}ctxt 981204\nbtime {btime}\n"
        "processes 412093\nprocs_running 3\nprocs_blocked 0",
    )
    folder.paths.append("/proc/stat")
    folder.kinds.append("kernel_log")
