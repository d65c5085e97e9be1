"""Settings that are meant for a search, and what each costs where it stays (NCCL user guide).

NVIDIA parts the variables into configuration, which may stay, and debugging, which should not.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from diagnostics.finding import Severity
from diagnostics.nccl.transport import number

# What must be there for it to cost anything: another node, another GPU of the job, or nothing.
When = Literal["between_nodes", "between_gpus", "always"]


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """One variable: `is_on` tells the value that costs, `instead` what to set, None to unset it."""

    name: str
    cost: str
    is_on: Callable[[str], bool]
    severity: Severity = "warning"
    when: When = "always"
    instead: str | None = None


def _on(text: str) -> bool:
    return bool(number(text))


def _off(text: str) -> bool:
    return number(text) == 0


def _true(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on", "y", "t")


def _set(text: str) -> bool:
    return bool(text)


def _word(*words: str) -> Callable[[str], bool]:
    return lambda text: text.upper() in words


TCP = "TCP sockets carry what InfiniBand or RoCE should: a tenth of the bandwidth or less"
PEERS = (
    "GPUs exchange data through host memory, not NVLink or PCIe: several times slower; "
    "it repairs nothing, and is right for one run that tells whether peer access is at fault"
)
HANGS = "a rank whose collective failed waits for ever, and holds the job with it"
PINNED = "NCCL no longer chooses by message size and topology"

LEFTOVERS: tuple[Leftover, ...] = (
    Leftover(name="NCCL_P2P_DISABLE", cost=PEERS, is_on=_on, when="between_gpus"),
    Leftover(name="NCCL_P2P_LEVEL", cost=PEERS, is_on=_word("LOC", "0"), when="between_gpus"),
    Leftover(
        name="NCCL_SHM_DISABLE",
        cost="GPUs without peer access exchange data over the network card, not shared memory",
        is_on=_on,
        when="between_gpus",
    ),
    Leftover(name="NCCL_IB_DISABLE", cost=TCP, is_on=_on, when="between_nodes"),
    Leftover(name="NCCL_NET", cost=TCP, is_on=_word("SOCKET"), when="between_nodes"),
    Leftover(
        name="NCCL_NET_GDR_LEVEL",
        cost="data goes through host memory on its way to the card: 30 to 50 % less between nodes",
        is_on=_word("LOC", "0"),
        when="between_nodes",
    ),
    Leftover(
        name="NCCL_DEBUG",
        cost="each call is logged: the log grows without bound and slows the ranks",
        is_on=_word("TRACE"),
        instead="WARN",
    ),
    Leftover(
        name="CUDA_LAUNCH_BLOCKING",
        cost="the host waits for each kernel: nothing overlaps any more",
        is_on=_on,
    ),
    Leftover(
        name="TORCH_DISTRIBUTED_DEBUG",
        cost="each collective is preceded by one that compares all ranks",
        is_on=_word("DETAIL"),
    ),
    Leftover(name="TORCH_NCCL_ASYNC_ERROR_HANDLING", cost=HANGS, is_on=_off),
    Leftover(name="NCCL_ASYNC_ERROR_HANDLING", cost=HANGS, is_on=_off),
    # What recipes set on purpose as well: said, not warned of.
    Leftover(
        name="NCCL_NVLS_ENABLE",
        cost="24 to 30 % less all-reduce inside a node with NVSwitches",
        is_on=_off,
        severity="info",
        when="between_gpus",
    ),
    Leftover(name="NCCL_ALGO", cost=PINNED, is_on=_set, severity="info"),
    Leftover(name="NCCL_PROTO", cost=PINNED, is_on=_set, severity="info"),
    Leftover(
        name="TORCH_NCCL_BLOCKING_WAIT",
        cost="the host waits for each collective",
        is_on=_true,
        severity="info",
    ),
    Leftover(
        name="TORCH_NCCL_DESYNC_DEBUG",
        cost="each rank writes its collectives to the store",
        is_on=_true,
        severity="info",
    ),
    Leftover(
        name="NCCL_CHECK_POINTERS",
        cost="each call asks the driver about its pointers",
        is_on=_on,
        severity="info",
    ),
)
