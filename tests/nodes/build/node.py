"""A whole node: its parts, and the recording that they make together."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.nodes.build import adapters, bmc, board, gpus, host, network, probes, scenario
from tests.nodes.build.bmc import Bmc
from tests.nodes.build.board import Before
from tests.nodes.build.folder import Folder, Json
from tests.nodes.build.gpus import Driver, Gpu, Holder
from tests.nodes.build.host import Drive, Mount, Process
from tests.nodes.build.network import Nic, Peer, Port
from tests.nodes.build.scenario import Nvml, Says, Step

Told = tuple[float, int, str]


@dataclass(frozen=True)
class Node:
    """All that a recording is made of; a sick node is a well one with parts replaced.

    `jobs` are (pid, job, step) by Slurm's word, None where there is no Slurm; `slurm` and `kubelet`
    say how many GPUs the schedulers count. `containers` are what a runtime's tool says. `owner` is
    the driver that the GPUs are bound to, `places` the ports above each device in the PCI tree.
    `last` change the folder where no part has a word for it.
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
    owner: str | None = "nvidia"
    nvml: Nvml = field(default_factory=Nvml)
    manager: str | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    dmi: Mapping[str, str] = field(default_factory=dict)
    bmc: Bmc | None = None
    before: Before | None = None
    slurm: Json | None = None
    kubelet: Json | None = None
    expect: Mapping[str, float] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    jobs: tuple[tuple[int, str, str], ...] | None = None
    containers: tuple[str, tuple[str, ...]] | None = None
    ports: tuple[Port, ...] = ()
    peers: tuple[Peer, ...] = ()
    routes: tuple[tuple[str, str], ...] = ()
    acs: Mapping[str, int] = field(default_factory=dict)
    memlock: str = "unlimited"
    logs: dict[str, str] = field(default_factory=dict)
    last: tuple[Callable[[Folder], None], ...] = ()

    def change_gpu(self, index: int, **parts: object) -> "Node":
        """Return the node with one GPU changed."""
        changed = tuple(
            replace(gpu, **parts) if gpu.index == index else gpu  # type: ignore[arg-type]  # parts by name
            for gpu in self.gpus
        )
        return replace(self, gpus=changed)

    def says(self, index: int, **says: object) -> "Node":
        """Return the node of which one GPU says something else; `__` is the dot of a key."""
        words = {key.replace("__", "."): value for key, value in says.items()}
        gpu = next(gpu for gpu in self.gpus if gpu.index == index)
        return self.change_gpu(index, says={**gpu.says, **words})

    def all_say(self, **says: object) -> "Node":
        """Return the node of which every GPU says something else."""
        words = {key.replace("__", "."): value for key, value in says.items()}
        return replace(self, nvml=replace(self.nvml, every={**self.nvml.every, **words}))

    def later(self, at_s: float, gpus: Mapping[int, Says]) -> "Node":
        """Return the node whose GPUs say something else from then on."""
        steps = (*self.nvml.steps, Step(at_s, gpus))
        return replace(self, nvml=replace(self.nvml, steps=steps))

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
        network.routes(folder, self.nics, self.routes)
        network.statistics(folder, self.nics)
        if any(port.whole for port in self.ports):
            adapters.fec(folder, self.nics)
            adapters.devlink(folder, self.ports)
        network.locked(
            folder, [h.pid for h in self.holders if "RANK" in dict(h.environ)], self.memlock
        )
        network.peers(folder, self.peers, self.expect)
        if self.peers:
            probes.over_ip(folder, self.peers, self.nics)
            probes.fabric(folder, self.ports)
        self._board(folder)
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

    def _board(self, folder: Folder) -> None:
        now = dt.datetime.fromisoformat(self.taken).timestamp()
        uevents = {gpu.pci: gpu.uevent(self.owner) for gpu in self.gpus}
        uevents |= {port.pci: port.uevent() for port in self.ports}
        uevents |= {drive.pci: drive.uevent() for drive in self.drives}
        board.firmware(folder, self.dmi)
        board.tree(folder, self.places, uevents)
        board.peer_memory(folder, self.kernel)
        board.peer_paths(folder, self.acs)
        board.last_boot(folder, self.before, now, self.uptime_s)
        board.scheduled(folder, self.slurm, self.kubelet)
        bmc.write(folder, self.bmc)

    def _gpus(self, folder: Folder) -> None:
        gpus.hardware(folder, self.gpus, self.switches, self.owner)
        folder.kinds += ["holders", "environ", "open_files", "device_nodes", "blocked"]
        folder.tools.append("nv-fabricmanager")
        if self.manager:
            said = f"Fabric Manager version is : {self.manager}\n"
            folder.command("nv-fabricmanager", "--version", stdout=said, seconds=0.02)
        if self.driver is None:
            return
        gpus.software(folder, self.driver, self.gpus)
        gpus.held(folder, self.holders)
        if self.gpus:
            folder.scenario = scenario.text(self.gpus, self.driver.version, self.nvml)

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
            state = "MIXED" if self.jobs else "IDLE"
            folder.command(
                *("scontrol", "show", "node", self.name.partition(".")[0]),
                stdout=f"NodeName={self.name} Arch=x86_64\n   State={state} ThreadsPerCore=2 \n",
                seconds=0.02,
            )
        if self.containers is not None:
            tool, running = self.containers
            lines = "".join(f"{name}\n" for name in running)
            folder.command(tool, "ps", "-q", "--no-trunc", stdout=lines, seconds=0.05)
