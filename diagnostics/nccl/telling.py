"""What of a job's settings is told to its other nodes: names of NCCL's, and values of one word."""

import hashlib
import re
from collections.abc import Mapping, Sequence

from collectors.jobs.nccl import RankSettings

# All ranks of a communicator must come to the same; NCCL compares none of them itself.
AGREE = (
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_IB_DISABLE"),
    *("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE"),
    *("NCCL_CROSS_NIC", "NCCL_SOCKET_FAMILY", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_COLLNET_ENABLE"),
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NTHREADS"),
    *("NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_CUMEM_ENABLE"),
)
# These may differ by design, rank by rank and node by node; one against all others does not.
BY_RANK = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX")
# Ring,Tree        =mlx5_0:1,mlx5_1:1        ^docker,lo
WORD = re.compile(r"[A-Za-z0-9_.,:;=^+-]{0,80}", re.ASCII)


def shown(value: str) -> str:
    """Return a value as it may leave the node: a path or a sentence as a number that compares."""
    if WORD.fullmatch(value):
        return value
    return "#" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:12]


def common(ranks: Sequence[RankSettings], name: str) -> tuple[bool, str | None]:
    """Return whether all ranks have one value of a setting, and which; None where it is not set."""
    values = {one.value if (one := rank.settings.get(name)) else None for rank in ranks}
    return len(values) == 1, values.pop() if len(values) == 1 else None


def told(ranks: Sequence[RankSettings]) -> Mapping[str, str]:
    """Return the settings that the ranks of one job here share."""
    values = {name: common(ranks, name)[1] for name in (*AGREE, *BY_RANK)}
    return {name: shown(value) for name, value in values.items() if value is not None}
