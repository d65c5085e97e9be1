"""Codes that have a name: `explain xid_79` answers with the page of the named fault."""

import re
from collections.abc import Mapping

NAMED_XID: Mapping[str, tuple[int, ...]] = {
    "gpu_fell_off_bus": (79,),
    "gsp_timeout": (119, 120),
    "nvlink_error": (74, 137, *range(144, 151)),
    "ecc_uncorrectable": (48, 94, 95, 140, 171),
    "row_remap_pending": (63,),
    "row_remap_failed": (64,),
}

# All other codes share a page until they have their own; drivers of 2026 know some 180.
LAST_XID = 199
UNNAMED = "xid_other"
XID = re.compile(r"xid_\d{1,5}")

ALIASES: Mapping[str, str] = {f"xid_{code}": UNNAMED for code in range(1, LAST_XID + 1)} | {
    f"xid_{code}": fault for fault, codes in NAMED_XID.items() for code in codes
}


def named(fault: str) -> str:
    """Return the id under which the page of *fault* stands; Xids of later drivers share one too."""
    return ALIASES.get(fault, UNNAMED if XID.fullmatch(fault) else fault)
