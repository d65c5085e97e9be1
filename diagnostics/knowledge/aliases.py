"""Codes that have a name: an Xid 79 is told as gpu_fell_off_bus, and has a page of its own."""

import re
from collections.abc import Mapping

from diagnostics.knowledge.codes.tables import Code, sxids, xids

NAMED_XID: Mapping[str, tuple[int, ...]] = {
    "gpu_fell_off_bus": (79,),
    "gsp_timeout": (119, 120),
    "gpu_init_failed": (143,),
    "nvlink_error": (74, 137, *range(144, 151)),
    "ecc_uncorrectable": (48, 94, 95, 140, 171),
    "row_remap_pending": (63,),
    "row_remap_failed": (64,),
}

# A code that no table has, of a driver of tomorrow, shares a page with the others of its kind.
UNNAMED = "xid_other"
# An Xid 154 is told by its number: it states a wish. What is wished for has a page.
WISH = "xid_154"
PAGES: Mapping[int, str] = {154: "gpu_reset_required"}
# A setting is looked up by its own name; the page tells when it is right.
SETTINGS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
            *("NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_DEBUG", "NCCL_ALGO", "NCCL_PROTO"),
            *("NCCL_NVLS_ENABLE", "NCCL_CHECK_POINTERS", "NCCL_ASYNC_ERROR_HANDLING"),
            *("TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT"),
            *("TORCH_NCCL_DESYNC_DEBUG", "TORCH_DISTRIBUTED_DEBUG", "CUDA_LAUNCH_BLOCKING"),
        ),
        "nccl_debug_setting_left_on",
    ),
    **dict.fromkeys(("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"), "nccl_wrong_interface"),
    "NCCL_IB_GID_INDEX": "roce_gid_missing",
}
CODE = re.compile(r"(?P<kind>s?xid)_(?P<code>\d{1,6})")

XID: Mapping[int, str] = {code: fault for fault, codes in NAMED_XID.items() for code in codes}


def code(name: str) -> Code | None:
    """Return the row of `xid_79` or `sxid_20034`, None where no table has it."""
    hit = CODE.fullmatch(name)
    if hit is None:
        return None
    return (xids() if hit["kind"] == "xid" else sxids()).get(int(hit["code"]))


def codes() -> Mapping[str, Code]:
    """Return every code by its id."""
    return {f"xid_{number}": row for number, row in xids().items()} | {
        f"sxid_{number}": row for number, row in sxids().items()
    }


def named(fault: str) -> str:
    """Return the id under which the page of *fault* stands: that of its name, or a shared one."""
    hit = CODE.fullmatch(fault)
    if hit is None:
        return SETTINGS.get(fault, fault)
    number = int(hit["code"])
    if hit["kind"] == "xid":
        return XID.get(number) or PAGES.get(number, UNNAMED)
    row = sxids().get(number)
    fatal = row is not None and row.severity == "critical"
    return "nvswitch_sxid_fatal" if fatal else "nvswitch_sxid_nonfatal"
