"""What a node does for others besides computing, by the names of its processes.

The planner and the actor ask the same table, each with processes that it saw itself. The standard
library alone, and pure.
"""

# By the name of the process as the kernel cuts it: 15 letters.
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


def duty(comm: str, *, kernel: bool) -> str:
    """Return what a process of this name does for others, "" for nothing.

    *kernel* tells that it is a thread of the kernel's.
    """
    if kernel and comm[-1:].isdigit():
        begun = (does for begins, does in NUMBERED.items() if comm.startswith(begins))
        return next(begun, DUTIES.get(comm, ""))
    return DUTIES.get(comm, "")
