"""PCI addresses in the one form that findings, sysfs and joins use."""

import re
from functools import lru_cache

# 0000:4e:00 (Xid lines)   00000000:4E:00.0 (NVML, nvidia-smi)   0002:00:01.0 (sysfs)
ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<device>[0-9a-f]{2}:[0-9a-f]{2})(?P<function>\.[0-7])?",
    re.IGNORECASE,
)


# The same few hundred are asked for with each look.
@lru_cache(maxsize=4096)
def function(text: str) -> str:
    """Return `0000:4e:00.0` of any spelling of an address; what is none stays as it is."""
    hit = ADDRESS.fullmatch(text)
    if hit is None:
        return text
    domain = int(hit["domain"] or "0", 16)
    return f"{domain:04x}:{hit['device'].lower()}{hit['function'] or '.0'}"
