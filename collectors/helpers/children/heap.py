"""Have the C library give back the memory that a process does not need any more.

By itself it raises the bound from which a piece is mapped on its own to the largest that was ever
freed, up to 32 MiB, and keeps below it what was needed for one long answer: mallopt(3).
"""

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
KEPT_BYTES = 64 << 10


def keep_little() -> None:
    """Map each large piece on its own, so that it is given back when it is freed."""
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)


def trim() -> None:
    """Give back what is free now, also between pieces that are not."""
    if (malloc_trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        malloc_trim(0)
