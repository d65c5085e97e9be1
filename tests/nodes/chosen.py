"""Which of many generated cases run: all in `make soak`, in `make test` the same few each time."""

import os
import zlib

ALL = os.environ.get("GPUDIAG_GENERATED") == "all"


def chosen(*names: str, one_in: int) -> bool:
    """Return whether the case of these names is among those that run."""
    return ALL or zlib.crc32(" ".join(names).encode()) % one_in == 0
