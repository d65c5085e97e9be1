"""Lines of a kernel log: of the boot, and what a healthy node says later."""

from collections.abc import Sequence

from tests.nodes.build.gpus import Driver, Gpu
from tests.nodes.build.host import Drive
from tests.nodes.build.network import Port

Told = tuple[float, int, str]
# Priority 4 is a kernel warning, 6 a note; 12 (facility 1) was written by a program.
WARNING, NOTE, PROGRAM = 4, 6, 12


def boot(
    gpus: Sequence[Gpu],
    ports: Sequence[Port],
    drives: Sequence[Drive],
    driver: Driver | None,
    uptime_s: float,
) -> tuple[Told, ...]:
    """Return an ordinary boot, and what is written in the days after it without any fault."""
    lines: list[Told] = [
        (0.0, 5, "Linux version 6.8.0 (buildd@lcy02) (gcc 13.3.0) #87 SMP PREEMPT_DYNAMIC"),
        (0.0, NOTE, "Command line: BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro iommu=pt"),
        (0.9, NOTE, "ACPI: Core revision 20230628"),
        (1.2, NOTE, "smpboot: Total of 192 processors activated"),
        (2.7, NOTE, "pci 0000:00:1f.4: Adding to iommu group 41"),
    ]
    for number, drive in enumerate(drives):
        lines.append((3.1 + number / 10, NOTE, f"nvme {drive.name}: pci function {drive.pci}"))
    for number, port in enumerate(ports):
        text = f"mlx5_core {port.pci}: firmware version: {port.firmware}"
        lines.append((4.0 + number / 10, NOTE, text))
    lines.append((6.2, NOTE, "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode"))
    if driver:
        lines += _driver(gpus, driver)
    return (*lines, *_later(uptime_s))


def _driver(gpus: Sequence[Gpu], driver: Driver) -> list[Told]:
    lines: list[Told] = [
        (11.0, WARNING, "nvidia: loading out-of-tree module taints kernel."),
        (11.2, NOTE, "nvidia-nvlink: Nvlink Core is being initialized, major device number 510"),
    ]
    for number, gpu in enumerate(gpus):
        text = f"nvidia {gpu.pci}: enabling device (0140 -> 0142)"
        lines.append((11.4 + number / 10, NOTE, text))
    lines.append((12.9, NOTE, f"NVRM: loading NVIDIA UNIX {driver.kind()}  {driver.version}"))
    lines.append((14.2, NOTE, "nvidia-uvm: Loaded the UVM driver, major device number 508."))
    return lines


def _later(uptime_s: float) -> list[Told]:
    """Return what reads like trouble and is none: old, said by a program, or harmless."""
    said = "Out of memory: Killed process 4242 (python) total-vm:201444kB, anon-rss:124000kB"
    profile = 'audit: type=1400 apparmor="STATUS" operation="profile_load"'
    return [
        (31.8, NOTE, "IPv6: ADDRCONF(NETDEV_CHANGE): eno1: link becomes ready"),
        (uptime_s * 0.4, WARNING, "perf: interrupt took too long (3134 > 3127), lowering rate"),
        (uptime_s * 0.5, NOTE, "systemd-journald[912]: Time jumped backwards, rotating."),
        # A program may write whatever it likes here; only the kernel's own word counts.
        (uptime_s * 0.9, PROGRAM, said),
        (max(uptime_s - 4000.0, uptime_s * 0.95), NOTE, profile),
    ]
