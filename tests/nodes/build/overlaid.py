"""Five faults that have nothing to do with any recorded one, laid over a node as it is.

None of them needs the driver, the kernel log or a process, so that a node on which those are sick
or unseen shows them all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.nodes.build.folder import Folder
from tests.nodes.build.host import Mount
from tests.nodes.build.network import Nic
from tests.nodes.build.node import Node

MISSING_HALF = (
    "md9 : active raid1 sdb1[0]\n"
    "      488254464 blocks super 1.2 [2/1] [U_]\n"
    "      bitmap: 4/4 pages [16KB], 65536KB chunk\n"
)
OTHER_JOB = """\
building dataset index ...
Traceback (most recent call last):
  File "/home/ml/evaluate.py", line 14, in <module>
    import sacrebleu
ModuleNotFoundError: No module named 'sacrebleu'
"""


@dataclass(frozen=True)
class Overlay:
    """What it does to a node, and what must be told of it: the fault and the thing's name."""

    over: Callable[[Node], Node]
    fault: str
    of: str


def _full(node: Node) -> Node:
    spool = Mount("/srv", "ext4", "/dev/sdb2", "8:18", 931, 0.0)
    return replace(node, mounts=(*node.mounts, spool))


def _bond(node: Node) -> Node:
    members = ("ens40f0", "ens40f1")
    bond = Nic("bond7", ("192.0.2.140",), physical=False, members=members)
    cards = (
        Nic(members[0], speed=25000, pci="0000:e3:00.0"),
        Nic(members[1], running=False, mii="down", pci="0000:e3:00.1"),
    )
    added = (bond, *cards)

    def numbered(folder: Folder) -> None:
        """Number them where the others are: an interface without is one that came just now."""
        if any(path.endswith("/ifindex") for path in folder.first.files):
            for index, nic in enumerate(added, 40):
                folder.file(f"/sys/class/net/{nic.name}/ifindex", str(index))

    return replace(node, nics=(*node.nics, *added)).also(numbered)


def _clock(node: Node) -> Node:
    ahead = "C0000201,192.0.2.1,3,1796004120.1,4.811020000,4.811020000,0.000004,"
    rest = "-3.412,0.001,0.021,0.00102,0.00088,64.4,Normal"
    return replace(node, chrony=ahead + rest)


def _array(node: Node) -> Node:
    head, _, rest = node.mdstat.partition("\n")
    return replace(node, mdstat=f"{head}\n{MISSING_HALF}\n{rest}")


def _other_job(node: Node) -> Node:
    return replace(node, logs={**node.logs, "evaluate-90417.log": OTHER_JOB})


OVERLAYS = {
    "full": Overlay(_full, "disk_full", "/srv"),
    "bond": Overlay(_bond, "nic_link_down", "ens40f1"),
    "clock": Overlay(_clock, "clock_skew", ""),
    "array": Overlay(_array, "raid_degraded", "md9"),
    "other-job": Overlay(_other_job, "module_not_found", ""),
}
