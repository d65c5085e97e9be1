"""What operators have and no machine that builds this has; run by hand where it can be had.

Each test states what would be seen. To run one elsewhere, take its mark away.
"""

from pathlib import Path
from subprocess import run

import pytest


def lines(*argv: str) -> list[str]:
    """Return what a tool prints on standard output."""
    ran = run(argv, capture_output=True, text=True, check=False, timeout=30)
    return ran.stdout.splitlines()


@pytest.mark.unobtainable("a BMC in band: needs /dev/ipmi0, which virtual machines lack")
def test_ipmitool_in_band() -> None:
    """A BMC of the machine itself answers `ipmitool -I open mc info` with its firmware."""
    said = lines("ipmitool", "-I", "open", "mc", "info")
    assert [line for line in said if line.startswith("Firmware Revision")] != []


@pytest.mark.unobtainable("`ibping -S` as server: under ibsim 0.10 its requests reach no client")
def test_ibping_server() -> None:
    """A port with `ibping -S` behind it answers all pings of `ibping -c 3`."""
    said = lines("ibping", "-c", "3", "-f", "-L", "1")
    assert [line for line in said if line.startswith("3 packets transmitted, 3 received")] != []


@pytest.mark.unobtainable("ibv_devinfo: opens an RDMA device of the kernel, which ibsim has not")
def test_ibv_devinfo() -> None:
    """Each device that sysfs lists is one that `ibv_devinfo -l` lists."""
    devices = sorted(path.name for path in Path("/sys/class/infiniband").iterdir())
    assert devices == sorted(line.strip() for line in lines("ibv_devinfo", "-l")[1:] if line)


@pytest.mark.unobtainable("MemoryMax: needs cgroup v2; here the memory controller is in v1")
def test_memory_max() -> None:
    """A transient unit over its MemoryMax is killed by the kernel and counted in memory.events."""
    unit = ("systemd-run", "--wait", "--quiet", "-p", "MemoryMax=32M", "-p", "MemorySwapMax=0")
    ran = run([*unit, "tail", "/dev/zero"], check=False, timeout=30)
    assert ran.returncode != 0
