"""Codes that have a name: `explain xid_79` answers with the page of the named fault."""

from collections.abc import Mapping

NAMED_XID: Mapping[str, tuple[int, ...]] = {
    "gpu_fell_off_bus": (79,),
    "gsp_timeout": (119, 120),
    "nvlink_error": (74, 137, *range(144, 151)),
    "ecc_uncorrectable": (48, 94, 95, 140, 171),
    "row_remap_pending": (63,),
    "row_remap_failed": (64,),
}

ALIASES: Mapping[str, str] = {
    f"xid_{code}": fault for fault, codes in NAMED_XID.items() for code in codes
}
