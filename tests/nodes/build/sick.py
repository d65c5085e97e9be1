"""What happens to the well nodes: GPUs, driver and the processes on them."""

from dataclasses import replace

from tests.nodes.build import logs
from tests.nodes.build.boot import NOTE, WARNING
from tests.nodes.build.folder import Folder
from tests.nodes.build.jobs import CGROUP, FIRST_PID, training
from tests.nodes.build.models import h100, workstation
from tests.nodes.build.node import Node
from tests.nodes.build.parts import DRIVER
from tests.nodes.build.scenario import Nvml

# The Xid came at 02:10:51, 676 s before the recording was taken.
SINCE = 676.0
IN_DRIVER = ("rwsem_down_read_slowpath", "down_read", "os_acquire_rwlock_read", "rmapiLockAcquire")


def denied(kind: str) -> dict[str, str]:
    """Return what a user hears who is not root, on a node without the reader."""
    detail = "only root sees this, and no reader is running"
    return {"cause": "denied", "detail": detail, "verb": kind}


def stuck(node: Node, places: dict[int, str], since: float, stack: tuple[str, ...] = ()) -> Node:
    """Return the node with processes in state D for *since* seconds, in these functions."""
    for pid in places:
        at = (CGROUP.format(job="88123", task=pid - FIRST_PID), since)
        node = node.change_process(pid, state="D", cgroup=at[0], ran_s=at[1])
    answer = {str(pid): {"wchan": w, "stack": list(stack)} for pid, w in sorted(places.items())}
    args = {"pids": sorted(places)}
    lines = [
        (node.uptime_s - since + after, WARNING - 1, text)
        for pid in sorted(places)
        for after, text in _hung(pid, since)
    ]
    return node.told(*lines).also(lambda folder: folder.answer("blocked", answer, args))


def _hung(pid: int, since: float) -> list[tuple[float, str]]:
    """Return what the hung-task watch says of one task: every 123 s, four times at most here."""
    said = "INFO: task python:{} blocked for more than {} seconds."
    times = [123 * n for n in range(1, 5) if 123 * n + 2 < since]
    return [(n + 2.0, said.format(pid, n - 1)) for n in times]


def gpu_lost() -> Node:
    """One GPU fell off the bus; its rank is blocked in the driver, the other ranks gave up."""
    pid = FIRST_PID + 3
    node = training(h100())
    gone = {FIRST_PID + n for n in range(8)} - {pid}
    node = replace(
        node,
        processes=tuple(p for p in node.processes if p.pid not in gone),
        holders=tuple(h for h in node.holders if h.pid not in gone),
        jobs=tuple(j for j in node.jobs or () if j[0] not in gone),
        drives=h100().drives,
        logs={"train-88123.log": logs.timed_out(11)},
    )
    for index in range(8):
        node = node.change_gpu(index, used_mib=4, use=0, computes=(), says={})
    lost = node.gpus[3]
    at = node.uptime_s - SINCE
    node = node.says(3, lost=True).told(
        (at - 0.2, NOTE, "pcieport 0000:5b:01.0: pciehp: Slot(3): Link Down"),
        (at, WARNING - 1, f"NVRM: GPU at PCI:0000:5d:00: {lost.uuid}"),
        (at, WARNING - 1, f"NVRM: GPU Board Serial Number: {lost.serial}"),
        (
            at,
            WARNING - 1,
            f"NVRM: Xid (PCI:0000:5d:00): 79, pid={pid}, name=python, GPU has fallen off the bus.",
        ),
        (at, WARNING - 1, "NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus."),
    )
    return stuck(node, {pid: IN_DRIVER[0]}, SINCE - 1, IN_DRIVER)


def lost_unlogged() -> Node:
    """The same, seen hours later: the kernel's ring holds no line of it any more."""
    node = gpu_lost()
    quiet = tuple(t for t in node.kmsg if "fallen off" not in t[2] and "Link Down" not in t[2])
    return replace(node, kmsg=quiet)


def driver_hung() -> Node:
    """A lock of the driver is held for ever, and whoever asks the driver waits with it."""
    pid = FIRST_PID + 6
    node = stuck(training(h100()), {pid: IN_DRIVER[0], pid + 1: IN_DRIVER[0]}, 1790.0, IN_DRIVER)
    where = f"pid 300112, state D, in {IN_DRIVER[0]}"
    why = {"cause": "timeout", "detail": "no answer in 15 s", "stuck": where}
    return node.also(lambda folder: folder.silence("nvml", why, seconds=15.0))


def gsp_timeout() -> Node:
    """The processor on GPU 6 does not answer its driver: from then on nobody should ask."""
    node = driver_hung()
    said = (
        f"pid={FIRST_PID + 6}, name=python, Timeout after 6s of waiting for RPC response from GPU6 "
        "GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x8c8)."
    )
    text = f"NVRM: Xid (PCI:0000:ba:00): 119, {said}"
    return node.told(*((node.uptime_s - 1804.0 + 6 * n, WARNING - 1, text) for n in range(3)))


def orphan() -> Node:
    """The job has ended by Slurm's word; one of its processes has not, and keeps its GPU."""
    node = training(h100())
    left = FIRST_PID + 2
    names = {"slurmstepd", "torchrun", "python"}
    node = replace(
        node,
        processes=tuple(p for p in node.processes if p.comm not in names or p.pid == left),
        holders=tuple(h for h in node.holders if h.comm != "python" or h.pid == left),
        jobs=(),
        drives=h100().drives,
    )
    node = node.change_process(left, ppid=1, state="S")
    for index in range(8):
        idle = {"use": 0, "says": {}}
        gone = {} if index == 2 else {"used_mib": 4, "computes": ()}
        node = node.change_gpu(index, **idle, **gone)
    return node


def two_jobs() -> Node:
    """Two jobs compute on GPU 3: the second was not kept from it."""
    second = 231_004
    node = training(h100(), gpus=(0, 1, 2, 3))
    first = node.gpus[3].computes
    node = training(node, job="88124", first=second, gpus=(3, 4, 5, 6, 7))
    used = ((first[0][0], 41_020), (second + 3, 37_900))
    return node.change_gpu(3, computes=used, used_mib=79_480)


def oom() -> Node:
    """A rank went over its job's memory limit, the kernel killed it, and the job ended."""
    node = h100()
    pid, at = FIRST_PID + 5, node.uptime_s - 665.0
    job = "/system.slice/slurmstepd.scope/job_88123"
    chosen = (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        f"oom_memcg={job},task_memcg={job}/step_0/user/task_5,task=python,pid={pid},uid=1000"
    )
    memory = "total-vm:412098112kB, anon-rss:241172480kB, file-rss:104312kB, shmem-rss:9120kB"
    killed = f"Killed process {pid} (python) {memory}"
    return replace(node, logs={"train-88123.log": logs.killed()}).told(
        (
            at,
            WARNING,
            "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        ),
        (at, NOTE, f"memory: usage 2013265920kB, limit 2013265920kB, failcnt 48211 for {job}"),
        (at, NOTE, chosen),
        (at, WARNING - 1, f"Memory cgroup out of memory: {killed}, UID:1000 oom_score_adj:0"),
    )


def library_mismatch() -> Node:
    """The driver's packages were upgraded under the loaded module; nobody is on the GPUs."""
    node = replace(h100(), driver=replace(DRIVER, version="580.82.07", library=DRIVER.version))
    at = node.uptime_s - 5200.0
    text = "NVRM: API mismatch: the client has the version 580.105.08, but"
    node = node.told(
        (at, WARNING - 1, text),
        (at, WARNING - 1, "NVRM: this kernel module has the version 580.82.07."),
    )
    return replace(node, nvml=Nvml(calls={"nvmlInitWithFlags.returns": 18}))


def blind_driver_stage() -> Node:
    """Neither sysfs, the driver's library nor the kernel log gives an answer that can be used."""
    late = {"cause": "timeout", "detail": "no answer in 5 s"}
    stood = {**late, "stuck": "pid 300140, state D, in pci_read_config"}
    crashed = {"cause": "crashed", "detail": "the helper ended with signal 11"}
    bus = {"patterns": ["/sys/bus/pci/devices/*/uevent"], "names": ["/dev/nvidia[0-9]*"]}

    def blind(folder: Folder) -> None:
        folder.silence("files", stood, {**bus, "cap": 65_536}, seconds=5.0)
        folder.silence("nvml", crashed)
        folder.silence("nvml_health", crashed, {"brief": True})
        folder.silence("kernel_log", denied("kernel_log"))
        folder.first.kmsg.clear()

    return workstation().also(blind)
