"""How NCCL is set up on nodes that are well: as it should be, and otherwise."""

from collections.abc import Mapping
from dataclasses import replace

from tests.nodes.build.folder import Folder
from tests.nodes.build.jobs import training
from tests.nodes.build.network import Nic
from tests.nodes.build.node import Node
from tests.nodes.build.rails import infiniband, of_h200, roce

RAILS_ONLY = "^mlx5_8"
DOCKER = Nic("docker0", ("172.17.0.1",), physical=False)


def set_up(
    node: Node,
    environ: Mapping[str, str],
    conf: Mapping[str, str] | None = None,
    odd: Mapping[str, str] | None = None,
) -> Node:
    """Return the node whose ranks have this environment, the last of them *odd*'s besides.

    *conf* is what /etc/nccl.conf says.
    """
    ranks = [holder for holder in node.holders if "RANK" in dict(holder.environ)]
    holders = []
    for holder in node.holders:
        more = {} if holder not in ranks else dict(environ)
        more |= (odd or {}) if holder is ranks[-1] else {}
        given = dict(holder.environ) | more
        holders.append(
            replace(holder, environ=tuple(sorted((n, v) for n, v in given.items() if v)))
        )
    files = [{"path": "/etc/nccl.conf", "settings": dict(conf)}] if conf else []

    def files_of_nccl(folder: Folder) -> None:
        answer = {str(one.pid): {"host_network": True, "files": files} for one in ranks}
        folder.answer("nccl_conf", answer, {"pids": [one.pid for one in ranks]})
        for index, nic in enumerate(node.nics, 1):
            folder.file(f"/sys/class/net/{nic.name}/ifindex", str(index))

    return replace(node, holders=tuple(holders)).also(files_of_nccl)


def well() -> Node:
    """The site's file names what to use, and ranks add what may stay."""
    conf = {"NCCL_SOCKET_IFNAME": "^docker,lo", "NCCL_IB_HCA": RAILS_ONLY, "NCCL_IB_TIMEOUT": "20"}
    return set_up(training(infiniband()), {"NCCL_IB_HCA": "", "NCCL_DEBUG": "WARN"}, conf)


def docker() -> Node:
    """An image's file names containers' own bridge, which is on every node."""
    node = training(infiniband())
    node = replace(node, nics=(*node.nics, DOCKER))
    return set_up(node, {"NCCL_IB_HCA": RAILS_ONLY}, {"NCCL_SOCKET_IFNAME": "docker0"})


def half_the_rails() -> Node:
    """A launch script of nodes with four cards names four of the eight."""
    names = "=" + ",".join(f"mlx5_{n}" for n in range(4))
    return set_up(training(roce()), {"NCCL_IB_HCA": names})


def wrong_index() -> Node:
    """A script of another cluster fixes the place where RoCE v1 stands here."""
    environ = {"NCCL_IB_HCA": RAILS_ONLY, "NCCL_IB_GID_INDEX": "2"}
    return set_up(training(of_h200(roce())), environ)


def ranks_differ() -> Node:
    """One rank was started again by hand, without the traffic class of the others."""
    environ = {"NCCL_IB_HCA": RAILS_ONLY, "NCCL_IB_TC": "106"}
    return set_up(training(roce()), environ, odd={"NCCL_IB_TC": ""})


def no_peer_access() -> Node:
    """NCCL_P2P_DISABLE stayed in the launch script after a hang of last month."""
    return set_up(training(infiniband()), {"NCCL_IB_HCA": RAILS_ONLY, "NCCL_P2P_DISABLE": "1"})


HEALTHY = {"nccl-well": well}
SICK = {
    "nccl-docker0": docker,
    "nccl-half-the-rails": half_the_rails,
    "nccl-gid-index": wrong_index,
    "nccl-ranks-differ": ranks_differ,
    "nccl-p2p-disabled": no_peer_access,
}
