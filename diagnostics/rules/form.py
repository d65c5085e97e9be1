"""Whose text a log is: a kernel or system log, a training log, or something else.

What a process prints is in its job's log, and can look like anything. It must never be taken for
the kernel's word, so that the kernel's lines are looked for only where the log as a whole is a
kernel log, a system log, or no training log and the line has a stamp of the kernel's own.
"""

import re
from typing import Literal

from diagnostics.rules.stamp import INSIDE, hand, stamp

Form = Literal["bare", "system", "training", "other"]

# A log is known by its beginning.
HEAD = 64 << 10
HEAD_LINES = 400
# Of this share of lines a log is what they are.
MOST = 0.75

#  gpu-017 systemd[1]: Started ...        host, program and pid, as syslog has them behind the time
PROGRAM = re.compile(rb"[ ]?[\w.-]{1,64} [\w./@:+-]{1,64}(?:\[\d{1,10}\])?: ")
TRAINING = re.compile(
    rb"\[(?:default|rank)[ =]?\d{1,6}\]|NCCL (?:INFO|WARN|version)|ProcessGroup|Traceback \(most"
    rb"|it/s[\],]|s/it[\],]|\b(?:iter|iteration|step|epoch|loss|lr|grad_norm)\b[^a-z\n]{0,12}\d"
    rb"|torch|deepspeed|megatron|transformers|tokens",
    re.IGNORECASE,
)
# How lines of the kernel begin where nothing stands in front of them (dmesg -t, a pasted line).
KERNEL = re.compile(
    rb"NVRM: |nvidia[\w-]{0,20}: |nvidia-nvswitch|SXid|pcieport |mlx[45]_|nvme |EXT4-fs|XFS \("
    rb"|INFO: |watchdog: |BUG: |Out of memory: |Memory cgroup out of memory|oom-kill:|Linux version"
    rb"|Command line: |ACPI|BIOS-|pci |PCI|EDAC |mce: |\{\d{1,4}\}|Call Trace:|RIP: |CPU:? |rcu: "
    rb"|blk_update_request|I/O error|Buffer I/O|critical |nfs: |NFS: |Lustre|LustreError|usb |ata"
    rb"|nvidia [0-9a-f]{4}:|nvidia-peermem |nvidia-uvm|NVRM RmInit|nouveau |LNet|Memory failure: "
    rb"|oom_reaper: |.{1,64} invoked oom-killer: |.{1,64}\[\d{1,10}\]: segfault at |\"echo 0 > "
    rb"|NETDEV WATCHDOG: |block nvme|nfs4_|VFS: |nf_conntrack: |libceph: |ceph: |beegfs: |mmfs: "
    rb"|.{1,64}: page allocation failure: |arm-smmu|i40e |igb |ixgbe |ice |bnxt_en |JBD2: |Abort"
    rb"|(?:mce: )?CPU\d{1,5}: (?:Core|Package) |Memory cgroup|print_req_error: |end_request: "
    rb"|\[Hardware Error\]|clocksource: |NMI |mlx5_\w{1,40}:\d"
    rb"|md/|md: |sd |scsi |bond|AMD-Vi|DMAR|iommu|systemd\[1\]: |audit|Kernel panic|Code: |task:"
)


def form(head: bytes) -> Form:
    """Return what a log is by its first lines."""
    count = dict.fromkeys(("kernel", "system", "bare", "training", "other"), 0)
    for line in head[:HEAD].split(b"\n")[:HEAD_LINES]:
        # What is indented continues the line before it.
        if (line and line[:1] not in b" \t") or (line[:1] == b" " and stamp(line, 0, len(line))):
            count[_kind(line)] += 1
    stamped = count["kernel"] + count["system"]
    ours = stamped + count["bare"]
    others = count["training"] + count["other"]
    if stamped and stamped >= count["bare"] and ours >= others and ours > 4 * count["training"]:
        return "system"
    if count["bare"] and not count["training"] and ours >= MOST * (ours + others):
        return "bare"
    return "training" if count["training"] else "other"


def _kind(line: bytes) -> str:
    found = stamp(line, 0, len(line))
    if hand(found) == "kernel" or INSIDE.match(line):
        return "kernel"
    if hand(found) == "program" or (found and PROGRAM.match(line, found.end() - 1)):
        return "system"
    if found is None and KERNEL.match(line):
        return "bare"
    return "training" if TRAINING.search(line, 0, 400) else "other"


def by_kernel(of: Form, found: re.Match[bytes] | None) -> bool:
    """Return whether a line is the kernel's, in a log of this form."""
    if of == "training":
        return False
    whose = hand(found)
    return whose == "kernel" or (of == "bare" and found is None)
