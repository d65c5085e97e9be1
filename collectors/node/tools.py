"""The tool table: which program a tool's name stands for."""

from collections.abc import Mapping

FOLDERS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")

# Every program that the product may start; a name that is not here cannot be run.
TOOLS = (
    "ibping",
    "ping",
    "ibnetdiscover",
    "ib_write_bw",
    "iperf3",
    "all_reduce_perf",
    "ip",
    "ethtool",
    "devlink",
    "scontrol",
    "squeue",
    "docker",
    "podman",
    "crictl",
    "mdadm",
    "chronyc",
    "nv-fabricmanager",
    "dpkg-query",
    "rpm",
)


def candidates(tool: str, table: Mapping[str, str]) -> tuple[str, ...]:
    """Return the absolute paths at which *tool* may lie; the site's own choice stands alone."""
    if tool not in TOOLS:
        raise KeyError(f"{tool} is not in the tool table")
    if tool in table:
        return (table[tool],)
    return tuple(f"{folder}/{tool}" for folder in FOLDERS)
