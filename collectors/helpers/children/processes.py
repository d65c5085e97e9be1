"""The verbs about processes that have a GPU open: who they are, what they wait for and write.

`holders` reads nothing that takes the memory lock of a process, so that a stuck one cannot hold it.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from collectors.helpers.children.loop import Refused

# /proc/PID/fd/41 -> /dev/nvidia3; a container that is being taken down adds " (deleted)".
DEVICE = re.compile(r"(/dev/(?:nvidia\d+|nvidiactl|nvidia-uvm))(?: \(deleted\))?")

# The allow-list: what says which job and rank a process is, and how its collectives are set up.
NAMES = re.compile(
    r"(?:NCCL|GLOO|TORCH_NCCL|TORCH_FR|UCX)_[A-Z0-9_]{1,64}"
    r"|CUDA_LAUNCH_BLOCKING|TORCH_DISTRIBUTED_DEBUG|FI_PROVIDER"
    r"|CUDA_VISIBLE_DEVICES|MASTER_ADDR|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_JOB_ID|SLURM_STEP_ID"
    r"|SLURM_JOB_NODELIST"
    # Which image it runs in, by Apptainer and by the images of NVIDIA.
    r"|APPTAINER_CONTAINER|SINGULARITY_CONTAINER|NVIDIA_PYTORCH_VERSION"
)

# [<0>] percpu_rwsem_wait+0x15f/0x1d0
FRAME = re.compile(r"\[<[0-9a-f]+>\] ([\w.]+)")

# Flags in /proc/PID/fdinfo/N are octal; the last two bits are the access mode (O_WRONLY, O_RDWR).
FLAGS = re.compile(r"^flags:\s+([0-7]+)$", re.MULTILINE)

# rchar: 9481219 and wchar: 12034: what went through read and write, files and pipes alike.
IO = re.compile(r"^[rw]char: (\d{1,19})$", re.MULTILINE)

MOST_PIDS = 512
MOST_PROCESSES = 65_536
MOST_LINKS = 500_000
MOST_FILES = 64
MOST_FRAMES = 12
FILE_CAP = 65_536
ENVIRON_CAP = 1 << 20
VALUE_CAP = 256
PATH_CAP = 1024
PID_MAX = 1 << 22


def holders(root: str = "/") -> dict[str, Any]:
    """Return every process that has an NVIDIA device open, and how many could not be looked at."""
    proc = _proc(root)
    found = []
    unseen = 0
    links = 0
    for pid in _pids(proc):
        try:
            opened = os.listdir(f"{proc}/{pid}/fd")
            devices = _devices(f"{proc}/{pid}/fd", opened[: MOST_LINKS - links])
            links += len(opened)
            if devices:
                found.append(_holder(f"{proc}/{pid}", devices, len(opened)))
        except PermissionError:
            unseen += 1
        except (OSError, ValueError):
            continue  # It ended while it was looked at.
        if links >= MOST_LINKS:
            raise Refused("garbled", f"processes have more than {MOST_LINKS} files open")
    return {"holders": found, "unseen": unseen}


def _devices(folder: str, opened: list[str]) -> list[str]:
    hits = (DEVICE.fullmatch(link(f"{folder}/{name}")) for name in opened)
    return sorted({hit[1] for hit in hits if hit})


def _holder(folder: str, devices: list[str], fds: int) -> dict[str, Any]:
    stat = read(f"{folder}/stat")
    name, _, rest = stat.partition(" (")[2].rpartition(") ")
    uid = re.search(r"^Uid:\s+(\d+)", read(f"{folder}/status"), re.MULTILINE)
    # Max open files            1024                 524288               files
    limit = re.search(r"^Max open files\s+(\d+)", read(f"{folder}/limits"), re.MULTILINE)
    return {
        "pid": int(stat.partition(" ")[0]),
        "start_ticks": int(rest.split()[19]),
        "uid": int(uid[1]) if uid else None,
        "comm": name[:64],
        "cgroup": read(f"{folder}/cgroup"),
        "devices": devices,
        "fds": fds,
        "fd_limit": int(limit[1]) if limit else None,
    }


def environ(pids: list[int], root: str = "/") -> dict[str, dict[str, str]]:
    """Return the allowed environment of each process as it was started; ended ones are left out.

    The read takes the memory lock of the process and can wait for ever on a stuck one.
    """
    found = {}
    for pid in checked(pids):
        try:
            text = read(f"{_proc(root)}/{pid}/environ", ENVIRON_CAP)
        except OSError:
            continue
        pairs = (entry.partition("=") for entry in text.split("\0"))
        found[str(pid)] = {
            name: value[:VALUE_CAP] for name, _, value in pairs if NAMES.fullmatch(name)
        }
    return found


def blocked(pids: list[int], root: str = "/") -> dict[str, dict[str, Any]]:
    """Return the kernel function in which each process waits, and the frames above it."""
    found = {}
    for pid in checked(pids):
        folder = f"{_proc(root)}/{pid}"
        wchan = _quiet(f"{folder}/wchan")
        frames = FRAME.findall(_quiet(f"{folder}/stack"))
        found[str(pid)] = {
            # "0" is what the kernel prints for one that runs, or that we may not look at.
            "wchan": wchan if wchan not in ("", "0") else None,
            "stack": frames[:MOST_FRAMES],
        }
    return found


def open_files(pids: list[int], root: str = "/") -> dict[str, list[str]]:
    """Return the paths that each process has open for writing; devices, pipes and sockets left out.

    Only links are read: a stat of a path on a dead file server would never come back.
    """
    found: dict[str, list[str]] = {}
    for pid in checked(pids):
        try:
            found[str(pid)] = sorted(_written(f"{_proc(root)}/{pid}"))[:MOST_FILES]
        except OSError:
            continue
    return found


def _written(folder: str) -> set[str]:
    paths = set()
    for name in os.listdir(f"{folder}/fd")[:FILE_CAP]:
        path = link(f"{folder}/fd/{name}")
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/", "/sys/", "/memfd:")):
            flags = FLAGS.search(_quiet(f"{folder}/fdinfo/{name}"))
            if flags and int(flags[1], 8) & (os.O_WRONLY | os.O_RDWR):
                paths.add(path[:PATH_CAP])
    return paths


def _proc(root: str) -> str:
    return f"{root.rstrip('/')}/proc"


def _pids(proc: str) -> Iterator[int]:
    yield from sorted(int(name) for name in os.listdir(proc) if name.isdecimal())[:MOST_PROCESSES]


def checked(pids: list[int]) -> list[int]:
    """Return *pids* if they are pids: the caller is not trusted with more than numbers."""
    if len(pids) > MOST_PIDS or any(type(pid) is not int or not 0 < pid < PID_MAX for pid in pids):
        raise Refused("garbled", f"pids are at most {MOST_PIDS} numbers from 1 to {PID_MAX - 1}")
    return pids


def link(path: str) -> str:
    """Return what a link stands for, "" where it cannot be read."""
    try:
        # A file name may hold any byte; the answer is JSON, so show odd ones as \xff.
        return os.fsencode(os.readlink(path)).decode("utf-8", "backslashreplace")
    except OSError:
        return ""


def read(path: str, cap: int = FILE_CAP) -> str:
    """Return the beginning of a file; raises OSError."""
    pieces = []
    with open(path, "rb", buffering=0) as handle:
        while cap > 0 and (piece := handle.read(cap)):
            pieces.append(piece)
            cap -= len(piece)
    return b"".join(pieces).decode("utf-8", "backslashreplace")


def _quiet(path: str) -> str:
    try:
        return read(path)
    except OSError:
        return ""


def activity(pids: list[int]) -> dict[str, dict[str, int]]:
    """Return what each process did so far: `ticks` of processor time, `bytes` read and written.

    Both count all its threads, and `ticks` its children that ended; ended ones are left out.
    """
    found = {}
    for pid in checked(pids):
        folder = f"/proc/{pid}"
        try:
            rest = read(f"{folder}/stat").rpartition(")")[2].split()
            ticks = sum(map(int, rest[11:15]))
            moved = sum(map(int, IO.findall(read(f"{folder}/io"))))
        except (OSError, ValueError):
            continue
        found[str(pid)] = {"ticks": ticks, "bytes": moved}
    return found
