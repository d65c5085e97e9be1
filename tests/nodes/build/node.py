"""A whole node: its parts, and the recording that they make together."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.nodes.build import gpus, host, network
from tests.nodes.build.folder import Folder
from tests.nodes.build.gpus import Driver, Gpu, Holder
from tests.nodes.build.host import Drive, Mount, Process
from tests.nodes.build.network import Nic, Peer, Port

Told = tuple[float, int, str]


@dataclass(frozen=True)
class Node:
    """All that a recording is made of; a sick node is a well one with parts replaced.

    `jobs` are (pid, job, step) by Slurm's word, None where there is no Slurm. `containers` are what
    a runtime's tool says. `last` change the folder where no part has a word for it.
    """

    name: str
    taken: str
    uptime_s: float
    boot_id: str
    kernel: str
    memory_gib: tuple[int, float]
    processes: tuple[Process, ...]
    mounts: tuple[Mount, ...]
    fstab: str
    drives: tuple[Drive, ...]
    nics: tuple[Nic, ...]
    kmsg: tuple[Told, ...]
    mdstat: str = "Personalities :\nunused devices: <none>"
    disks: tuple[str, ...] = ()
    governor: tuple[str, str, str | None, int] = ("performance", "intel_pstate", "performance", 4)
    chrony: str | None = None
    clock_status: int = 0x2001
    stall: str = "0.00"
    gpus: tuple[Gpu, ...] = ()
    switches: tuple[str, ...] = ()
    driver: Driver | None = None
    holders: tuple[Holder, ...] = ()
    jobs: tuple[tuple[int, str, str], ...] | None = None
    containers: tuple[str, tuple[str, ...]] | None = None
    ports: tuple[Port, ...] = ()
    peers: tuple[Peer, ...] = ()
    logs: dict[str, str] = field(default_factory=dict)
    last: tuple[Callable[[Folder], None], ...] = ()

    def change_gpu(self, index: int, **parts: object) -> "Node":
        """Return the node with one GPU changed."""
        changed = tuple(
            replace(gpu, **parts) if gpu.index == index else gpu  # type: ignore[arg-type]  # parts by name
            for gpu in self.gpus
        )
        return replace(self, gpus=changed)

    def change_process(self, pid: int, **parts: object) -> "Node":
        """Return the node with one process changed."""
        changed = tuple(
            replace(p, **parts) if p.pid == pid else p  # type: ignore[arg-type]  # parts by name
            for p in self.processes
        )
        return replace(self, processes=changed)

    def told(self, *lines: Told) -> "Node":
        """Return the node whose kernel has said more."""
        return replace(self, kmsg=(*self.kmsg, *lines))

    def also(self, change: Callable[[Folder], None]) -> "Node":
        """Return the node whose folder is changed at the end."""
        return replace(self, last=(*self.last, change))

    def recording(self) -> Folder:
        """Return the recording of this node."""
        folder = Folder(
            node=self.name,
            taken=self.taken,
            boot_id=self.boot_id,
            kernel=self.kernel,
            logs=dict(self.logs),
        )
        self._host(folder)
        self._gpus(folder)
        self._owners(folder)
        network.ports(folder, self.ports)
        network.interfaces(folder, self.nics)
        network.peers(folder, self.peers)
        for change in self.last:
            change(folder)
        for held in (folder.paths, folder.names, folder.tools, folder.kinds):
            held[:] = dict.fromkeys(held)
        return folder

    def _host(self, folder: Folder) -> None:
        started = dt.datetime.fromisoformat(self.taken).timestamp()
        host.processes(folder, self.processes, self.uptime_s)
        host.memory(folder, *self.memory_gib, stall=self.stall)
        host.clock(folder, chrony=self.chrony, status=self.clock_status)
        host.governor(folder, *self.governor)
        host.mounts(folder, self.mounts, self.fstab)
        host.drives(folder, self.drives, self.disks)
        host.raid(folder, self.mdstat)
        host.kernel_log(folder, self.kmsg, int(started - self.uptime_s))

    def _gpus(self, folder: Folder) -> None:
        gpus.hardware(folder, self.gpus, self.switches)
        folder.kinds += ["holders", "environ", "open_files", "nvml", "device_nodes", "blocked"]
        if self.driver is None:
            return
        gpus.software(folder, self.driver, self.gpus)
        gpus.nvml(folder, self.driver, self.gpus)
        gpus.held(folder, self.holders)

    def _owners(self, folder: Folder) -> None:
        folder.tools += ["scontrol", "crictl", "docker", "podman"]
        if self.jobs is not None:
            rows = "".join(f"{p:<8} {j:<8} {s:<8} -       -\n" for p, j, s in self.jobs)
            none = "" if self.jobs else "No job steps exist on this node.\n"
            folder.command(
                *("scontrol", "listpids"),
                stdout=f"PID      JOBID    STEPID   LOCALID GLOBALID\n{rows}",
                stderr=none,
                status=int(not self.jobs),
                seconds=0.02,
            )
        if self.containers is not None:
            tool, running = self.containers
            lines = "".join(f"{name}\n" for name in running)
            folder.command(tool, "ps", "-q", "--no-trunc", stdout=lines, seconds=0.05)
