"""What else this node does for others, by the kernel's own list of processes.

The planner looks, too; the actor looks again at the moment at which something is to be taken away,
and takes nobody's word for it. A process that cannot be read has ended meanwhile.
"""

from pathlib import Path

# By the name of the process as the kernel cuts it: 15 letters. Tested to be the planner's.
DUTIES = {
    "slurmctld": "slurmctld",
    "slurmdbd": "slurmdbd",
    "etcd": "etcd",
    "kube-apiserver": "control plane of Kubernetes",
    "kube-controller": "control plane of Kubernetes",
    "kube-scheduler": "control plane of Kubernetes",
    "k3s-server": "control plane of Kubernetes",
    "opensm": "subnet manager",
    "nfsd": "NFS server",
    "ceph-mon": "Ceph server",
    "ceph-mds": "Ceph server",
    "ceph-osd": "Ceph server",
    "beegfs-storage": "BeeGFS server",
    "beegfs-meta": "BeeGFS server",
    "beegfs-mgmtd": "BeeGFS server",
    "glusterfsd": "Gluster server",
    "gpudiag-aggrega": "gpudiag's aggregator",
}
# Threads of the kernel that are numbered: ll_ost_io00_003, ll_mgs_0001, mdt01_012.
NUMBERED = {"ll_ost": "Lustre server", "ll_mgs": "Lustre server", "mdt": "Lustre server"}


def duties(proc: Path = Path("/proc")) -> list[str]:
    """Return what this node is for others, each once."""
    found: set[str] = set()
    for path in proc.glob("[0-9]*/comm"):
        try:
            name = path.read_text(errors="replace").rstrip("\n")
        except OSError:
            continue
        found |= {DUTIES[name]} if name in DUTIES else set()
        begins = (start for start in NUMBERED if name.startswith(start) and name[-1].isdigit())
        found |= {NUMBERED[start] for start in begins if _kernels(path.with_name("cmdline"))}
    return sorted(found)


def _kernels(cmdline: Path) -> bool:
    """Return whether it is a thread of the kernel: only those have no words."""
    try:
        return cmdline.read_bytes() == b""
    except OSError:
        return False
